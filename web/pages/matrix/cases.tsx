import { useState } from 'preact/hooks';
import type { MatrixPage, MatrixPageCase } from '../../../src/reports/pages/matrix-page.ts';
import type { RowKind } from '../../../src/reports/page-data.ts';
import { count, plural } from '../../shared/format.ts';
import { KINDS, Mark } from '../../shared/marks.tsx';
import { plain, Text } from '../../shared/visible.tsx';
import { type MatrixView, show, viewHash } from './view.ts';

interface Props {
  readonly data: MatrixPage;
  readonly view: MatrixView;
}

/** Cases by versions. Cases that differ come first. */
export function CaseTable({ data, view }: Props) {
  const { versions, cases, cases_total, cases_differing } = data;
  const [shown, setShown] = useState(ROWS);
  const isAll = view.cases === 'all' || cases_differing === 0;
  const words = view.q.toLowerCase();
  const found = cases.filter(
    ({ case_id, title, differs }) =>
      (isAll || differs) && (words === '' || `${case_id}\n${title ?? ''}`.toLowerCase().includes(words)),
  );
  return (
    <section class="card">
      <h3>
        Cases{' '}
        <span class="muted">
          {cases_differing === 0
            ? `No case differs between versions (${plural(cases_total, 'case')})`
            : `${count(cases_differing)} of ${plural(cases_total, 'case')} ${cases_differing === 1 ? 'differs' : 'differ'} between versions`}
        </span>
      </h3>
      <Filter view={view} isAll={isAll} hasBoth={cases_differing > 0 && cases_differing < cases_total} />
      <div class="table-box" role="region" aria-label="Cases by version" tabIndex={0}>
        <table class="matrix-cases">
          <thead>
            <tr>
              <th scope="col">Case</th>
              {versions.map(({ name }, index) => (
                <th scope="col" key={name} title={plain(name)}>
                  {index + 1}{' '}
                  <span class="matrix-head">
                    <Text value={name} />
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, shown).map(one => (
              <CaseRow key={one.case_id} one={one} />
            ))}
          </tbody>
        </table>
      </div>
      <CaseLegend cases={found} />
      <p class="note" role="status">
        {found.length === 0
          ? 'No case matches.'
          : `${count(Math.min(shown, found.length))} of ${plural(found.length, 'case')} shown.`}
        {cases_total > cases.length &&
          ` This page has ${count(cases.length)} of ${count(cases_total)} cases; the JSON report has more.`}
      </p>
      {found.length > shown && (
        <button type="button" class="matrix-choice" onClick={() => setShown(shown + ROWS)}>
          Show {count(Math.min(ROWS, found.length - shown))} more
        </button>
      )}
    </section>
  );
}

function CaseLegend({ cases }: { readonly cases: readonly MatrixPageCase[] }) {
  return (
    <p class="matrix-legend">
      {STATES.filter(state => cases.some(({ cells }) => cells.some(([one]) => one === state))).map(state => (
        <span key={state} class={`tone-${KINDS[state].tone}`}>
          <Mark kind={state} /> {KINDS[state].word}
        </span>
      ))}
    </p>
  );
}

const ROWS = 100;
const STATES = ['pass', 'fail', 'flaky', 'missing'] as const satisfies readonly RowKind[];

function Filter({
  view,
  isAll,
  hasBoth,
}: {
  readonly view: MatrixView;
  readonly isAll: boolean;
  readonly hasBoth: boolean;
}) {
  return (
    <search class="matrix-choices" aria-label="Filter cases">
      <label class="matrix-find">
        <span class="unseen">Search cases</span>
        <input
          type="search"
          placeholder="Search cases"
          value={view.q}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => show(viewHash(view, { q: currentTarget.value }))}
        />
      </label>
      {hasBoth &&
        (['', 'all'] as const).map(cases => (
          <button
            type="button"
            class="matrix-choice"
            key={cases}
            aria-pressed={(cases === 'all') === isAll}
            onClick={() => show(viewHash(view, { cases }))}
          >
            {cases === 'all' ? 'All cases' : 'Cases that differ'}
          </button>
        ))}
    </search>
  );
}

function CaseRow({ one }: { readonly one: MatrixPageCase }) {
  const { case_id, title, changed, cells } = one;
  return (
    <tr>
      <th scope="row">
        <code>
          <Text value={case_id} />
        </code>{' '}
        {changed && <span class="tag">defined differently</span>}
        {title !== null && (
          <span class="matrix-title">
            <Text value={title} />
          </span>
        )}
      </th>
      {cells.map((cell, index) => (
        <Cell key={index} cell={cell} />
      ))}
    </tr>
  );
}

function Cell({ cell: [state, passes, trials] }: { readonly cell: MatrixPageCase['cells'][number] }) {
  if (state === 'unjudged' || state === 'absent')
    return <td class="matrix-heat muted">{state === 'absent' ? 'not run' : 'not judged'}</td>;
  const kind: RowKind = state;
  return (
    <td class={`matrix-heat tone-${KINDS[kind].tone}`}>
      <span class="matrix-mark">
        <Mark kind={kind} />
        <span class={trials > 1 ? 'unseen' : 'matrix-word'}>{KINDS[kind].word}</span>
        {trials > 1 && ` ${passes}/${trials}`}
      </span>
    </td>
  );
}

import type { MatrixPage } from '../../../src/reports/pages/matrix-page.ts';
import { Card } from '../../shared/card.tsx';
import { Copyable } from '../../shared/copy.tsx';
import { count } from '../../shared/format.ts';
import { plain, Text } from '../../shared/visible.tsx';
import { type MatrixView, show, viewHash } from './view.ts';
import { type MatrixPagePair, PairLegend, PairMark, pairWord } from './words.tsx';

interface Props {
  readonly data: MatrixPage;
  readonly view: MatrixView;
}

/** Every ordered pair: is the version in the column worse than the one in the row? */
export function Grid({ data, view }: Props) {
  const { versions, pairs } = data;
  const selected = pairs.find(pair => idOf(pair) === view.pair) ?? firstTelling(pairs);
  return (
    <Card id="pairs" title="Every pair">
      <p class="note matrix-lead">Is the version in the column worse than the one in the row?</p>
      <div class="table-box" role="region" aria-label="Table of the pairs" tabIndex={0}>
        <table class="matrix-grid" data-many={versions.length > WORDS_MAX}>
          <thead>
            <tr>
              <td />
              {versions.map(({ name }, index) => (
                <th scope="col" key={name} title={plain(name)}>
                  {index + 1}
                  <span class="unseen">
                    {' '}
                    <Text value={name} />
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {versions.map(({ name }, row) => (
              <tr key={name}>
                <th scope="row">
                  <span class="matrix-row">
                    <span class="matrix-number">{row + 1}</span>
                    <span class="matrix-head">
                      <Text value={name} />
                    </span>
                  </span>
                </th>
                {versions.map((_, column) => {
                  const pair = pairs.find(({ baseline, candidate }) => baseline === row && candidate === column);
                  return (
                    <td key={column}>
                      {pair ? <PairButton data={data} pair={pair} view={view} isOpen={pair === selected} /> : '·'}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <PairLegend isMany={versions.length > WORDS_MAX} />
      {selected && <PairDetail pair={selected} data={data} />}
    </Card>
  );
}

/** With more versions, the cells have room only for shapes. */
const WORDS_MAX = 3;

const idOf = ({ baseline, candidate }: MatrixPagePair): string => `${baseline + 1}-${candidate + 1}`;

function firstTelling(pairs: readonly MatrixPagePair[]): MatrixPagePair | undefined {
  const deciding = pairs.filter(({ is_deciding }) => is_deciding);
  return (
    deciding.find(({ verdict }) => verdict === 'regression') ??
    deciding.find(({ verdict }) => verdict === 'not_enough_evidence') ??
    deciding[0]
  );
}

function PairButton({ data, pair, view, isOpen }: Props & { readonly pair: MatrixPagePair; readonly isOpen: boolean }) {
  const [before, now] = namesOf(data, pair);
  return (
    <button
      type="button"
      class="matrix-cell"
      aria-pressed={isOpen}
      aria-label={`${now} against ${before}: ${pairWord(pair)}`}
      onClick={() => show(viewHash(view, { pair: idOf(pair) }))}
    >
      <PairMark pair={pair} />
    </button>
  );
}

const namesOf = ({ versions }: MatrixPage, { baseline, candidate }: MatrixPagePair): [string, string] => [
  plain(versions[baseline]?.name ?? ''),
  plain(versions[candidate]?.name ?? ''),
];

function PairDetail({ pair, data }: { readonly pair: MatrixPagePair; readonly data: MatrixPage }) {
  const [before, now] = namesOf(data, pair);
  const { reason, cases, broken, suspects, comparability, href, command } = pair;
  return (
    <div class="matrix-detail" role="status">
      <p>
        <strong>
          {now} against {before}
        </strong>{' '}
        <PairMark pair={pair} />
      </p>
      <p>
        <Text value={reason} />
      </p>
      <p class="muted">
        {count(cases)} {cases === 1 ? 'case' : 'cases'} with trials on both sides, {count(broken)} broken,{' '}
        {count(suspects)} suspect. {COMPARABILITY[comparability]}
      </p>
      {href !== null ? (
        <p>
          <a href={href}>Open the report of this pair</a>
        </p>
      ) : (
        command !== '' && (
          <>
            <p class="muted">To find the causes, run:</p>
            <Copyable text={command} label={`${now} against ${before}`} />
          </>
        )
      )}
    </div>
  );
}

const COMPARABILITY: Record<MatrixPagePair['comparability'], string> = {
  comparable: 'Their conditions are equal.',
  drift: 'Their conditions differ.',
  not_comparable: 'They cannot be compared.',
};

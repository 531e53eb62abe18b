import { useMemo } from 'preact/hooks';
import type { PageHead } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';
import { useAfterPaint } from './after-paint.ts';
import * as format from '../shared/format.ts';
import { Causes } from './causes.tsx';
import { Decision, Findings } from './grounds.tsx';
import { Icon } from '../shared/marks.tsx';
import { Measures } from './measures.tsx';
import { useJump } from './places.tsx';
import { Plot } from '../shared/plots.tsx';
import { PrintedCases } from './printed-cases.tsx';
import { Repaired } from './repairs.tsx';
import { useSource } from '../shared/source.ts';
import { RunId } from '../shared/run-id.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
}

/** The decision and the causes come first; the rest waits until they and the list are drawn. */
export function Overview({ head, address }: Props & { readonly address: Address }) {
  const isDrawn = useAfterPaint();
  useJump(address.at, isDrawn);
  return (
    <div class="overview">
      <h2 class="unseen">Overview</h2>
      <Decision head={head} />
      <Causes head={head} address={address} />
      {isDrawn && (
        <>
          {head.comparison?.grounds && <Findings of={head.comparison.grounds} address={address} />}
          <Measures head={head} />
          {head.comparison && <Sides of={head.comparison} />}
          {head.run && <RunFacts of={head.run} />}
          <Distributions head={head} />
          <PrintedCases head={head} />
        </>
      )}
    </div>
  );
}

type Compared = NonNullable<PageHead['comparison']>;

const STATES = {
  comparable: { word: 'Comparable', tone: 'good', says: 'Cases, environment and policy are the same on both sides.' },
  drift: {
    word: 'Comparable, with drift',
    tone: 'unsure',
    says: 'These differ between the sides, and may explain a change:',
  },
  not_comparable: { word: 'Not comparable', tone: 'bad', says: 'These differ too much for a verdict:' },
} as const;

function Sides({ of: { comparability, sides, causes_note, cases_note } }: { readonly of: Compared }) {
  const { word, tone, says } = STATES[comparability.state];
  return (
    <section class="card">
      <h3>What was compared</h3>
      <div class="pair">
        <Side name="Baseline" of={sides.baseline} />
        <Side name="Candidate" of={sides.new} />
      </div>
      {causes_note !== null && <p class="note">{causes_note}</p>}
      {cases_note !== null && (
        <p class="note">
          Cases <Text value={cases_note} />
        </p>
      )}
      <div class="comparability">
        <p>
          <span class={`pill tone-${tone}`}>
            <Icon path={{ good: 'M4 8.5 7 11.5 12 5', unsure: 'M8 4v5M8 11.5v.5', bad: 'M5 5l6 6M11 5l-6 6' }[tone]} />
            {word}
          </span>{' '}
          {says}
        </p>
        {comparability.fields.length > 0 && (
          <div class="table-box" role="region" aria-label="What differs between the sides" tabIndex={0}>
            <table class="stacked">
              <thead>
                <tr>
                  <th scope="col">Field</th>
                  <th scope="col">Baseline</th>
                  <th scope="col">Candidate</th>
                </tr>
              </thead>
              <tbody>
                {comparability.fields.map(({ field, baseline, new: candidate }, index) => (
                  <tr key={field} data-at={`new:comparability.fields[${index}]`} tabIndex={-1}>
                    <th scope="row">
                      <code>{field}</code>
                    </th>
                    <td data-label="Baseline">
                      <Short value={baseline} />
                    </td>
                    <td data-label="Candidate">
                      <Short value={candidate} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
    </section>
  );
}

function Side({ name, of: side }: { readonly name: string; readonly of: Compared['sides']['baseline'] }) {
  const [first, ...others] = side.run_ids;
  return (
    <div class="side-facts" data-side={name}>
      <h4>{name}</h4>
      <dl>
        <dt>Target</dt>
        <dd>
          {side.target === null && side.target_sha256 === null ? (
            'unknown'
          ) : side.target === null ? (
            <Hash value={side.target_sha256 ?? ''} />
          ) : (
            <Text value={side.target} />
          )}
        </dd>
        <dt>{side.source === 'accepted' ? 'Accepted from' : 'Run'}</dt>
        <dd>
          {first === undefined ? '–' : <RunId value={first} />}
          {others.length > 0 && <span class="muted"> and {format.count(others.length)} more</span>}
        </dd>
        <dt>Trials</dt>
        <dd>{format.count(side.trials)}</dd>
        <dt>Seal</dt>
        <dd>{side.seals[0] ? <Hash value={side.seals[0]} /> : '–'}</dd>
        <dt>Environment</dt>
        <dd>{side.environment_hash ? <Hash value={side.environment_hash} /> : 'unknown'}</dd>
        <Repaired of={side.repairs} />
      </dl>
    </div>
  );
}

function Hash({ value }: { readonly value: string }) {
  return <code title={value}>{value.replace('sha256:', '').slice(0, 12)}</code>;
}

function Short({ value }: { readonly value: string | null }) {
  const text = value ?? 'none';
  return text.startsWith('sha256:') ? (
    <Hash value={text} />
  ) : (
    <Text value={text.length > 120 ? `${text.slice(0, 120)}…` : text} />
  );
}

function RunFacts({ of: run }: { readonly of: NonNullable<PageHead['run']> }) {
  const { version, target, seal_sha256, unjudged, repairs, note } = run;
  return (
    <section class="card">
      <h3>What was run</h3>
      <div class="side-facts">
        <dl>
          <dt>Side</dt>
          <dd>{format.sideName(version)}</dd>
          <dt>Target</dt>
          <dd>
            <Text value={target} />
          </dd>
          <dt>Seal</dt>
          <dd>{seal_sha256 === null ? 'none yet' : <Hash value={seal_sha256} />}</dd>
          {unjudged > 0 && (
            <>
              <dt>Not judged</dt>
              <dd>
                {format.plural(unjudged, 'case')} without a judged expectation. Add expectations to the cases to judge
                them.
              </dd>
            </>
          )}
          <Repaired of={repairs} />
        </dl>
      </div>
      {note !== null && <p class="note">{note}</p>}
    </section>
  );
}

function Distributions({ head }: Props) {
  const source = useSource();
  const isRun = head.kind === 'run';
  const series = useMemo(() => source.series(), [source]);
  if (head.cases === 0) return null;
  return (
    <div class="plots">
      <Plot
        title="Latency"
        unit="time until the answer, per case"
        format={format.milliseconds}
        baseline={series.latency[0]}
        candidate={series.latency[1]}
        isRun={isRun}
        without="No answer has a measured time."
      />
      <Plot
        title="Cost"
        unit="US dollars, per case"
        format={format.dollars}
        baseline={series.cost[0]}
        candidate={series.cost[1]}
        isRun={isRun}
        without="The agent reports no cost. Return “cost_usd” in “usage”, or map it in the target."
      />
    </div>
  );
}

import type { MatrixPage } from '../../../src/reports/pages/matrix-page.ts';
import { Card } from '../../shared/card.tsx';
import { count, dollars, milliseconds } from '../../shared/format.ts';
import { Intervals } from '../../shared/interval-plot.tsx';
import { plain, Text } from '../../shared/visible.tsx';
import { type MatrixPageVersion, PairMark, percent } from './words.tsx';

/** The versions: pass rates on one axis, then the numbers. */
export function Versions({ data }: { readonly data: MatrixPage }) {
  const { versions, decided_by } = data;
  const rated = versions.flatMap((version, index) =>
    version.pass_rate ? [{ as: colour(index), label: labelOf(version, index), of: version.pass_rate }] : [],
  );
  const says = rated.map(({ label, of }) => `${label} ${percent(of.rate)} (${percent(of.low)} to ${percent(of.high)})`);
  return (
    <Card id="versions" title="Versions">
      {rated.length > 0 ? (
        <Intervals rows={rated} says={`${says.join(', ')}.`} />
      ) : (
        <p class="empty-plot">No version has a trial that counts.</p>
      )}
      <div class="table-box" role="region" aria-label="Table of the versions" tabIndex={0}>
        <table class="stacked matrix-versions">
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">{decided_by === 'reference' ? 'Against the first' : 'Against those before'}</th>
              <th scope="col">Pass rate</th>
              <th scope="col">Trials</th>
              <th scope="col">Missing cases</th>
              {COSTS.map(({ label }) => (
                <th scope="col" key={label}>
                  {label} per solved case
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {versions.map((version, index) => (
              <VersionRow key={version.name} data={data} version={version} index={index} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

const colour = (index: number): 'baseline' | 'candidate' => (index === 0 ? 'baseline' : 'candidate');
const labelOf = ({ name }: MatrixPageVersion, index: number): string => `${index + 1} ${plain(name)}`;

export const COSTS = [
  { key: 'cost_usd', by: 'cost', label: 'Cost', format: dollars },
  { key: 'latency_ms', by: 'time', label: 'Time', format: milliseconds },
  { key: 'tokens', by: 'tokens', label: 'Tokens', format: count },
] as const;

function VersionRow({
  data,
  version,
  index,
}: {
  readonly data: MatrixPage;
  readonly version: MatrixPageVersion;
  readonly index: number;
}) {
  const { pass_rate: rate, trials, states, per_solved } = version;
  const lacking = states.missing + states.absent;
  return (
    <tr>
      <th scope="row">
        <div class="matrix-version">
          <span class="matrix-number">{index + 1}</span>
          <VersionName version={version} isReference={index === 0 && data.decided_by === 'reference'} />
        </div>
      </th>
      <td data-label={data.decided_by === 'reference' ? 'Against the first' : 'Against those before'}>
        <Verdict data={data} index={index} />
      </td>
      <td data-label="Pass rate">
        {rate ? (
          <span>
            <strong>{percent(rate.rate)}</strong>{' '}
            <span class="muted">
              ({percent(rate.low).replace(' %', '')} to {percent(rate.high)})
            </span>
          </span>
        ) : (
          '–'
        )}
      </td>
      <td data-label="Trials">{count(trials)}</td>
      <td data-label="Missing cases">
        <span>
          {count(lacking)}
          {states.absent > 0 && <span class="muted"> ({count(states.absent)} not run)</span>}
        </span>
      </td>
      {COSTS.map(({ key, label, format }) => {
        const value = per_solved[key];
        return (
          <td key={key} data-label={`${label} per solved case`}>
            {value === null ? '–' : format(value)}
          </td>
        );
      })}
    </tr>
  );
}

interface NameProps {
  readonly version: MatrixPageVersion;
  readonly isReference: boolean;
}

function VersionName({ version: { name, facts }, isReference }: NameProps) {
  return (
    <span class="matrix-name">
      <Text value={name} /> {isReference && <span class="tag">reference</span>}
      <span class="matrix-facts">
        {facts
          .filter(({ value }) => value !== name)
          .slice(0, FACTS_MAX)
          .map(fact => (
            <span key={fact.name}>
              {fact.name} <Text value={fact.value} />
            </span>
          ))}
      </span>
    </span>
  );
}

const FACTS_MAX = 4;

/** The worst verdict of the pairs that decide on this version. */
function Verdict({ data, index }: { readonly data: MatrixPage; readonly index: number }) {
  const deciding = data.pairs.filter(({ candidate, is_deciding }) => is_deciding && candidate === index);
  const worst = ORDER.map(verdict => deciding.find(pair => pair.verdict === verdict)).find(Boolean);
  return worst ? <PairMark pair={worst} /> : <span class="muted">–</span>;
}

const ORDER = ['regression', 'not_enough_evidence', 'no_regression'] as const;

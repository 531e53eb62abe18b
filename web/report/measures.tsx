import type { MetricComparison } from '../../src/contracts/comparison/index.ts';
import type { PageHead, PageMeasure } from '../../src/reports/page-data.ts';
import * as format from '../shared/format.ts';

const METRICS = {
  latency_ms: { label: 'Latency', show: format.milliseconds, without: 'No answer has a measured time.' },
  ttft_ms: {
    label: 'Time to first token',
    show: format.milliseconds,
    without: 'Unknown. Only streamed replies have one; the target must declare “stream.first_output”.',
  },
  cost_usd: {
    label: 'Cost',
    show: format.dollars,
    without: 'Unknown. Return “cost_usd” in “usage”, or map it in the target.',
  },
  tokens: {
    label: 'Tokens',
    show: format.tokens,
    without: 'Unknown. Return “input_tokens” and “output_tokens” in “usage”, or map them in the target.',
  },
  input_tokens: { label: 'Input tokens', show: format.tokens, without: null },
  output_tokens: { label: 'Output tokens', show: format.tokens, without: null },
} as const;

/** Time, cost and tokens of each side. Unknown values say how to get them. */
export function Measures({ head }: { readonly head: PageHead }) {
  const isRun = head.kind === 'run';
  const differences = new Map<string, MetricComparison>(head.comparison?.metrics.map(metric => [metric.name, metric]));
  const score = differences.get('score');
  const columns = isRun ? 5 : 6;
  return (
    <section class="card">
      <h3>Time, cost and tokens {!isRun && <span class="muted plain-weight">baseline → candidate</span>}</h3>
      <div class="table-box" role="region" aria-label="Time, cost and tokens" tabIndex={0}>
        <table class="numbers measures">
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col">Median</th>
              <th scope="col">p95</th>
              <th scope="col">Total</th>
              {!isRun && <th scope="col">Mean difference, 95 % interval</th>}
              <th scope="col">Cases</th>
            </tr>
          </thead>
          <tbody>
            {head.measures.map(measure => (
              <MeasureRow
                key={measure.name}
                of={measure}
                isRun={isRun}
                columns={columns}
                difference={differences.get(measure.name)}
              />
            ))}
            {score && <ScoreRow of={score} />}
          </tbody>
        </table>
      </div>
      <p class="note">
        {isRun
          ? 'Percentiles count each case once. Totals add up all cases that report the value.'
          : 'Percentiles count each case once, and only cases measured on both sides. Totals add up all trials that report the value.'}
      </p>
    </section>
  );
}

interface RowProps {
  readonly of: PageMeasure;
  readonly isRun: boolean;
  readonly columns: number;
  readonly difference: MetricComparison | undefined;
}

function MeasureRow({ of: { name, cases, baseline, new: candidate }, isRun, columns, difference }: RowProps) {
  const { label, show, without } = METRICS[name];
  if (!candidate && !baseline) {
    if (without === null) return null;
    return (
      <tr>
        <th scope="row">{label}</th>
        <td colSpan={columns - 1} class="without">
          {without}
        </td>
      </tr>
    );
  }
  const hasAll = baseline !== null && candidate !== null && baseline.known === candidate.known;
  return (
    <tr>
      <th scope="row">{label}</th>
      {(['median', 'p95'] as const).map(key => (
        <td key={key} data-label={key === 'median' ? 'Median' : key}>
          <Step from={baseline?.[key] ?? null} to={candidate?.[key] ?? null} show={show} isRun={isRun} isComparable />
        </td>
      ))}
      <td data-label="Total">
        <Step
          from={baseline?.total ?? null}
          to={candidate?.total ?? null}
          show={show}
          isRun={isRun}
          isComparable={hasAll}
        />
        <span class="muted"> {trialsText(baseline, candidate, isRun)}</span>
      </td>
      {!isRun && (
        <td data-label="Difference">
          <Difference of={difference} show={show} />
        </td>
      )}
      <td data-label="Cases">{format.count(cases)}</td>
    </tr>
  );
}

function ScoreRow({ of }: { readonly of: MetricComparison }) {
  return (
    <tr>
      <th scope="row">Score</th>
      {(['p50', 'p95'] as const).map(key => (
        <td key={key} data-label={key === 'p50' ? 'Median' : key}>
          {format.score(of.baseline[key])} → {format.score(of.new[key])}
        </td>
      ))}
      <td data-label="Total">–</td>
      <td data-label="Difference">
        <Difference of={of} show={format.score} />
      </td>
      <td data-label="Cases">{format.count(of.pairs)}</td>
    </tr>
  );
}

interface StepProps {
  readonly from: number | null;
  readonly to: number | null;
  readonly show: (value: number) => string;
  readonly isRun: boolean;
  /** Whether both totals cover the same number of trials. */
  readonly isComparable: boolean;
}

function Step({ from, to, show, isRun, isComparable }: StepProps) {
  const text = (value: number | null): string => (value === null ? '–' : show(value));
  if (isRun) return <>{text(to)}</>;
  const change = isComparable ? format.against(from, to) : null;
  return (
    <>
      <span class="step">
        {text(from)} → <strong>{text(to)}</strong>
      </span>
      {change !== null && <span class="muted of-what"> {change}</span>}
    </>
  );
}

/** How many trials a total covers. */
function trialsText(baseline: PageMeasure['new'], candidate: PageMeasure['new'], isRun: boolean): string {
  if (isRun)
    return candidate && candidate.known < candidate.trials ? `of ${format.plural(candidate.known, 'case')}` : '';
  const [was, is] = [knownText(baseline), knownText(candidate)];
  return was === is ? `${is} trials each` : `${was} → ${is} trials`;
}

function knownText(side: PageMeasure['new']): string {
  if (!side) return 'no';
  const known = format.count(side.known);
  return side.known === side.trials ? known : `${known} of ${format.count(side.trials)}`;
}

function Difference({
  of,
  show,
}: {
  readonly of: MetricComparison | undefined;
  readonly show: (value: number) => string;
}) {
  if (!of) return <>–</>;
  const { difference, pairs } = of;
  return (
    <>
      <strong>{format.signed(difference.mean, show)}</strong>{' '}
      <span class="muted">
        {pairs < 2
          ? 'no interval for a single case'
          : `${format.signed(difference.low, show)} to ${format.signed(difference.high, show)}`}
      </span>
    </>
  );
}

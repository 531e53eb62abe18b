import type { HistoryRun, SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { dollars, milliseconds } from '../../shared/format.ts';
import { Chart, type ChartProps, type Point } from './chart.tsx';
import { percent } from './parts.tsx';

/** Pass rate, latency, cost and flakiness over the runs. */
export function Charts({ suite: { runs } }: { readonly suite: SuiteHistory }) {
  const hasSides = new Set(runs.map(({ side }) => side)).size > 1;
  return (
    <section class="history-part" aria-labelledby="over-time">
      <h3 id="over-time">Over time</h3>
      {hasSides && <p class="sides-note muted">Circles are candidate runs, squares are baseline runs.</p>}
      <ChartGrid charts={chartsOf(runs)} />
    </section>
  );
}

/** The charts that have a value. The others are named below. */
export function ChartGrid({ charts }: { readonly charts: readonly ChartProps[] }) {
  const unknown = charts.filter(chart => !isKnown(chart)).map(({ title }) => title.toLowerCase());
  return (
    <>
      <div class="history-charts">
        {charts.filter(isKnown).map(chart => (
          <Chart key={chart.title} {...chart} />
        ))}
      </div>
      {unknown.length > 0 && <p class="unknown-charts muted">Unknown in all runs: {unknown.join(', ')}.</p>}
    </>
  );
}

const isKnown = ({ series }: ChartProps): boolean => series.some(({ points }) => points.some(point => point !== null));

function chartsOf(runs: readonly HistoryRun[]): ChartProps[] {
  const valued = (valueOf: (run: HistoryRun) => number | null | undefined): (Point | null)[] =>
    runs.map(run => {
      const value = valueOf(run) ?? null;
      return value === null ? null : { value };
    });
  const rates = runs.map(({ pass_rate: rate }) => rate && { value: rate.rate, low: rate.low, high: rate.high });
  const isPartlyPriced = runs.some(({ unpriced, cost_usd }) => cost_usd !== null && unpriced > 0);
  return [
    {
      title: 'Pass rate',
      note: 'The band is the 95 % confidence interval. Each case counts once.',
      runs,
      series: [{ name: 'Pass rate', style: 'main', points: rates }],
      format: percent,
      most: 1,
    },
    {
      title: 'Flakiness',
      note: 'The share of neighbouring trials of one version with different verdicts.',
      runs,
      series: [{ name: 'Flakiness', style: 'main', points: valued(run => run.flakiness) }],
      format: percent,
      most: 1,
    },
    {
      title: 'Latency',
      runs,
      series: [
        { name: 'p50', style: 'main', points: valued(run => run.latency_ms?.p50) },
        { name: 'p95', style: 'second', points: valued(run => run.latency_ms?.p95) },
      ],
      format: milliseconds,
    },
    {
      title: 'Cost',
      note: isPartlyPriced ? 'Some answers state no cost, so the true sum is higher.' : 'The sum of all trials.',
      runs,
      series: [{ name: 'Cost', style: 'main', points: valued(run => run.cost_usd) }],
      format: dollars,
    },
  ];
}

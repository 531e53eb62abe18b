import type { SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { count, instant, plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { useHistoryLinks } from './links.ts';
import { StatePill } from './parts.tsx';
import { Rate } from './runs-table.tsx';

/** One card per suite, with its newest state. */
export function Suites({ suites }: { readonly suites: readonly SuiteHistory[] }) {
  if (suites.length === 0)
    return (
      <p>
        Run <code>proctor test</code> or <code>proctor run suite</code>, then open this page again.
      </p>
    );
  const sorted = [...suites].sort((a, b) => rankOf(a) - rankOf(b));
  return (
    <section class="history-part" aria-labelledby="suites">
      <h2 id="suites" class="history-title">
        Suites
      </h2>
      <ul class="suite-cards">
        {sorted.map(suite => (
          <SuiteCard key={suite.name} suite={suite} />
        ))}
      </ul>
    </section>
  );
}

function SuiteCard({ suite }: { readonly suite: SuiteHistory }) {
  const { name, states, runs, older_runs } = suite;
  const links = useHistoryLinks();
  const last = runs.at(-1);
  return (
    <li class="card suite-card">
      <p class="changed-title">
        <StatePill state={stateOf(suite)} />
        <a href={links.view({ suite: name, case: null })}>
          <Text value={name} />
        </a>
      </p>
      <Spark suite={suite} />
      <p>
        {last && <Rate run={last} />}
        {states.fails > 0 && `, ${count(states.fails)} failing`}
        {states.flaky > 0 && `, ${count(states.flaky)} flaky`}
      </p>
      <p class="muted">
        {plural(runs.length + older_runs, 'run')}
        {last && `, newest ${instant(last.started_at)}`}
      </p>
    </li>
  );
}

function stateOf({ states }: SuiteHistory) {
  if (states.fails > 0) return 'fails';
  if (states.flaky > 0) return 'flaky';
  return states.passes + states.fixed > 0 ? 'passes' : 'unknown';
}

const ORDER = ['fails', 'flaky', 'unknown', 'passes'];

const rankOf = (suite: SuiteHistory): number => ORDER.indexOf(stateOf(suite));

const WIDTH = 240;
const HEIGHT = 40;

/** The pass rates of the newest 50 runs. The table of the suite has them as text. */
function Spark({ suite: { runs } }: { readonly suite: SuiteHistory }) {
  const shown = runs.slice(-50);
  const step = Math.min(16, WIDTH / Math.max(1, shown.length));
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      {shown.map(({ pass_rate }, index) => {
        const height = pass_rate ? Math.max(2, pass_rate.rate * (HEIGHT - 2)) : 2;
        return (
          <rect
            key={index}
            class={pass_rate ? (pass_rate.rate < 1 ? 'part' : 'full') : 'open'}
            x={index * step + 0.5}
            y={HEIGHT - height}
            width={Math.max(1, Math.min(14, step - 1.5))}
            height={height}
            rx="1"
          />
        );
      })}
    </svg>
  );
}

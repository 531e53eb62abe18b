import type { RunRow } from '../../../src/serve/runs/run-index.ts';
import { count, milliseconds } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { serverNowMs } from '../api.ts';

type StateTone = 'good' | 'bad' | 'unsure' | 'calm' | 'flaky';

const GOOD = new Set([
  'passed',
  'accepted',
  'answered',
  'succeeded',
  'success',
  'completed',
  'complete',
  'ok',
  'bundle',
  'planned',
]);
const BAD = new Set(['failed', 'failure', 'not all passed', 'none passed', 'limit not met', 'no answers', 'refused']);

/** The colour of a run's state. The word beside it says the same. */
export function stateTone({ state, status, verdicts }: Pick<RunRow, 'state' | 'status' | 'verdicts'>): StateTone {
  if (state === 'running') return 'flaky';
  if (state === 'waiting') return 'calm';
  if (state !== 'finished') return 'unsure';
  if (verdicts && verdicts.failed > 0) return 'bad';
  if (GOOD.has(status.toLowerCase())) return 'good';
  return BAD.has(status.toLowerCase()) ? 'bad' : 'unsure';
}

/** A clock, for what waits or took too long. */
export const CLOCK = 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M8 5.2V8l1.9 1.3';

const PATHS: Record<StateTone, string> = {
  good: VERDICT_ICONS.good,
  bad: VERDICT_ICONS.bad,
  unsure: 'M8 4v5M8 11.5v.5',
  calm: CLOCK,
  flaky: 'M6 4.5 11 8l-5 3.5z',
};

export function StatePill({ run }: { readonly run: Pick<RunRow, 'state' | 'status' | 'verdicts'> }) {
  const tone = stateTone(run);
  const word = stateWord(run);
  return (
    <span class={`pill tone-${tone}`}>
      <Icon path={PATHS[tone]} />
      <Text value={word} />
    </span>
  );
}

/** The state of a run in words. A finished suite has the word of its report. */
function stateWord({ state, status, verdicts }: Pick<RunRow, 'state' | 'status' | 'verdicts'>): string {
  if (state !== 'finished') return state === 'foreign' ? 'from elsewhere' : state;
  if (status === 'in part') return verdicts && verdicts.failed > 0 ? 'not all passed' : 'not all answered';
  return status.replaceAll('_', ' ');
}

/** How far a run is, how fast it goes, and when it will be done. */
export function Progress({ run }: { readonly run: Pick<RunRow, 'state' | 'progress' | 'started_at'> }) {
  if (!run.progress) return null;
  const { done, total } = run.progress;
  const label = `${count(done)} of ${count(total)} cases`;
  return (
    <span class="live-progress">
      <progress value={done} max={Math.max(1, total)} aria-label={label} />
      <span>
        {label}
        {run.state === 'running' && <Pace run={run} />}
      </span>
    </span>
  );
}

function Pace({ run }: { readonly run: Pick<RunRow, 'progress' | 'started_at'> }) {
  const pace = paceOf(run);
  if (!pace) return null;
  const { perSecond, leftMs } = pace;
  const rate = perSecond >= 1 ? `${rounded(perSecond)}/s` : `${rounded(perSecond * 60)}/min`;
  return <span class="muted">{` · ${rate} · ${milliseconds(leftMs)} left`}</span>;
}

const rounded = (value: number): string => (value >= 10 ? count(value) : String(Number(value.toFixed(1))));

/** Undefined while there is too little to tell. */
function paceOf({ progress, started_at: startedAt }: Pick<RunRow, 'progress' | 'started_at'>) {
  const now = serverNowMs();
  if (!progress || progress.done === 0 || startedAt === null || now === null) return undefined;
  const ms = now - Date.parse(startedAt);
  if (!(ms >= TELLING_MS)) return undefined;
  const perSecond = (1_000 * progress.done) / ms;
  return { perSecond, leftMs: Math.round((1_000 * (progress.total - progress.done)) / perSecond / 1_000) * 1_000 };
}

const TELLING_MS = 2_000;

/** How long a run took, or has taken so far. */
export function tookOf({ state, duration_ms: took, started_at: startedAt }: RunRow): string {
  if (took !== null) return milliseconds(took);
  const now = serverNowMs();
  if (state !== 'running' || startedAt === null || now === null) return '';
  return `${milliseconds(Math.max(0, Math.round((now - Date.parse(startedAt)) / 1_000) * 1_000))} so far`;
}

const KIND_WORDS: Record<string, string> = { new: 'suite (candidate)', baseline: 'suite (baseline)' };

export const kindWord = (kind: string): string => KIND_WORDS[kind] ?? kind;

export const isSuite = (kind: string): boolean => kind === 'new' || kind === 'baseline' || kind === 'suite';

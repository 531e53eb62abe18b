import type { CaseState, HistoryRun, Since } from '../../../src/reports/pages/history-data.ts';
import { instant, sideName } from '../../shared/format.ts';
import { Icon } from '../../shared/marks.tsx';
import { plain, Text } from '../../shared/visible.tsx';
import { useHistoryLinks } from './links.ts';

export const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Each state has a word and a shape; colour only repeats them. */
const STATES: Readonly<Record<CaseState, { readonly word: string; readonly tone: string; readonly path: string }>> = {
  fails: { word: 'Fails', tone: 'bad', path: 'M5 5l6 6M11 5l-6 6' },
  flaky: { word: 'Flaky', tone: 'flaky', path: 'M3 9.5 6 6l3.5 4L13 6.5' },
  fixed: { word: 'Fixed', tone: 'good', path: 'M8 13V5M4.5 8 8 4.5 11.5 8' },
  gone: { word: 'Gone', tone: 'calm', path: 'M4 8h8' },
  unknown: { word: 'Not judged', tone: 'unsure', path: 'M4 8h1M7.5 8h1M11 8h1' },
  passes: { word: 'Passes', tone: 'good', path: 'M4 8.5 7 11.5 12 5' },
};

export function StatePill({ state }: { readonly state: CaseState }) {
  const { word, tone, path } = STATES[state];
  return (
    <span class={`pill tone-${tone}`}>
      <Icon path={path} />
      {word}
    </span>
  );
}

type Result = 'pass' | 'fail' | 'mixed' | 'unjudged' | 'none' | 'absent';

/** Each result of a case in a run has a word and a shape. */
export const RESULTS: Readonly<
  Record<Result, { readonly word: string; readonly tone: string; readonly path: string }>
> = {
  pass: { word: 'passed', tone: 'good', path: 'M4 8.5 7 11.5 12 5' },
  fail: { word: 'failed', tone: 'bad', path: 'M5 5l6 6M11 5l-6 6' },
  mixed: { word: 'passed and failed', tone: 'flaky', path: 'M3 9.5 6 6l3.5 4L13 6.5' },
  unjudged: { word: 'not judged', tone: 'unsure', path: 'M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M8 12v.2' },
  none: { word: 'no answer', tone: 'unsure', path: 'M4 8h1M7.5 8h1M11 8h1' },
  absent: { word: 'not in this run', tone: 'calm', path: 'M8 8h.01' },
};

/** The result of all trials of a case in a run. */
export function resultIn(letters: string): Result {
  if (letters === '') return 'absent';
  const [passes, fails] = [letters.includes('p'), letters.includes('f')];
  if (passes && fails) return 'mixed';
  return passes ? 'pass' : fails ? 'fail' : letters.includes('u') ? 'unjudged' : 'none';
}

/** A commit, shortened. A star marks uncommitted changes. */
export function Commit({ run }: { readonly run: Pick<HistoryRun, 'commit' | 'dirty'> }) {
  if (run.commit === null) return <span class="muted">–</span>;
  return (
    <code title={`${plain(run.commit)}${run.dirty ? ', with uncommitted changes' : ''}`}>
      <Text value={shortCommit(run.commit)} />
      {run.dirty && (
        <>
          *<span class="unseen"> with uncommitted changes</span>
        </>
      )}
    </code>
  );
}

const shortCommit = (commit: string): string => (/^[0-9a-f]{40,64}$/.test(commit) ? commit.slice(0, 9) : commit);

export function Version({ run }: { readonly run: Pick<HistoryRun, 'model' | 'agent_version'> }) {
  const words = [run.model, run.agent_version].filter(word => word !== null).join(' ');
  return words === '' ? <span class="muted">–</span> : <Text value={words} />;
}

/** "since Jan 6, 2026, 12:00 UTC, commit 4f0c2b7d9" */
export function SinceWords({ since }: { readonly since: Since }) {
  return (
    <>
      {since.or_before ? 'at least since' : 'since'} {instant(since.started_at)}
      {since.commit !== null && (
        <>
          , commit{' '}
          <code>
            <Text value={shortCommit(since.commit)} />
          </code>
          {since.dirty && ' with uncommitted changes'}
        </>
      )}
    </>
  );
}

/** A run in a few words, for titles. */
export const runWords = ({ started_at, side }: HistoryRun): string => `${instant(started_at)}, ${sideName(side)}`;

/** A link to the report of a run, if there is one. Shows the end of the id, which is enough to name the run. */
export function RunLink({ run, caseId }: { readonly run: HistoryRun; readonly caseId?: string }) {
  const link = useHistoryLinks().run(run, caseId);
  const name = (
    <code title={plain(run.run_id)}>
      <Text value={/^suite_\d{8}_\d{6}_([0-9a-f]{12})$/.exec(run.run_id)?.[1] ?? run.run_id} />
    </code>
  );
  return link === undefined ? name : <a href={link}>{name}</a>;
}

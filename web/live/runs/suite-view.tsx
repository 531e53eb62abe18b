import type { ComponentChildren } from 'preact';
import type { RunRow, ReadableRun } from '../../../src/serve/runs/run-index.ts';
import { count, instant, plural } from '../../shared/format.ts';
import { KINDS, Mark } from '../../shared/marks.tsx';
import { RunId } from '../../shared/run-id.tsx';
import { Says } from '../../shared/says.tsx';
import { Text } from '../../shared/visible.tsx';
import type { Refusal } from '../api.ts';
import { Stale } from '../notice.tsx';
import { useTitle } from '../title.ts';
import { FailingCases, LatestEvents } from './latest-events.tsx';
import { RunActions } from './run-actions.tsx';
import { kindWord, Progress, stateTone, tookOf } from './run-words.tsx';
import type { Followed } from './use-events.ts';

interface Props {
  readonly run: ReadableRun;
  readonly followed: Followed;
  readonly refusal: Refusal | undefined;
  readonly onChange: () => void;
  readonly children?: ComponentChildren;
}

/** A run that has no page of its own: the verdict first, then what happens. */
export function SuiteView({ run, followed, refusal, onChange, children }: Props) {
  const top = topOf(run);
  useTitle(`${top.word} · ${run.run_id}`);
  const took = tookOf(run);
  return (
    <>
      <section class="verdict live-verdict" data-tone={top.tone} aria-label="Verdict">
        <p class="live-what">
          {kindWord(run.kind)} <RunId value={run.run_id} />
          {run.started_at !== null && <span class="when"> · {instant(run.started_at)}</span>}
          {took !== '' && ` · ${took}`}
        </p>
        <Says top={top}>
          <VerdictCounts run={run} />
        </Says>
        <div class="live-under">
          <Progress run={run} />
          <RunActions run={run} onChange={onChange} />
        </div>
      </section>
      <Stale refusal={refusal} />
      {run.subject !== null && (
        <p class="note">
          <Text value={run.subject} />
        </p>
      )}
      {children}
      <FailingCases followed={followed} />
      {(followed.isConnected || followed.latest.length > 0) && <LatestEvents followed={followed} />}
    </>
  );
}

const WORDS: Record<RunRow['state'], string> = {
  waiting: 'Waiting',
  running: 'Running',
  finished: 'Finished',
  interrupted: 'Interrupted',
  foreign: 'From elsewhere',
  unreadable: 'Unreadable',
};

const SENTENCES: Partial<Record<RunRow['state'], string>> = {
  waiting: 'The run waits for a slot. It is next.',
  interrupted: 'The process that ran it is gone. Resume it to run the cases that are left.',
  foreign: 'Another user or machine started this run.',
  unreadable: 'Proctor cannot read this run. Run proctor verify for details.',
};

function topOf(run: RunRow): {
  readonly tone: 'good' | 'bad' | 'unsure';
  readonly word: string;
  readonly sentence: string;
} {
  const tone = stateTone(run);
  const word = run.state === 'finished' ? capital(run.status) : WORDS[run.state];
  return { tone: tone === 'good' || tone === 'bad' ? tone : 'unsure', word, sentence: sentenceOf(run) };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function sentenceOf({ state, status, progress, verdicts, position }: RunRow): string {
  if (verdicts && verdicts.passed + verdicts.failed > 0) {
    const { passed, failed, total } = verdicts;
    const rest = failed > 0 ? `, ${count(failed)} failed` : '';
    return `${count(passed)} of ${plural(total, 'case')} passed${rest}.`;
  }
  if (state === 'running' && progress) return `${count(progress.done)} of ${plural(progress.total, 'case')} are done.`;
  if (state === 'waiting' && position !== null && position > 1)
    return `The run waits for a slot. ${plural(position - 1, 'order')} ${position === 2 ? 'is' : 'are'} before it.`;
  return SENTENCES[state] ?? (state === 'running' ? 'The run has started.' : `The run ended: ${status}.`);
}

function VerdictCounts({ run: { verdicts } }: { readonly run: RunRow }) {
  if (!verdicts) return null;
  const kinds = [
    ['fail', verdicts.failed],
    ['pass', verdicts.passed],
  ] as const;
  return (
    <ul class="counts" aria-label="Case counts">
      {kinds.map(([kind, value]) => (
        <li key={kind} class={`count tone-${KINDS[kind].tone}`} data-zero={value === 0}>
          <span class="number">{count(value)}</span>
          <span class="label">
            <Mark kind={kind} />
            {KINDS[kind].word}
          </span>
        </li>
      ))}
    </ul>
  );
}

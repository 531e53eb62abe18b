import type { ComponentType } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { EmbeddedPage } from '../../../src/reports/pages/page-kinds.ts';
import type { ReadableRun } from '../../../src/serve/runs/run-index.ts';
import { KINDS, type KindProps } from '../../pages/kinds.tsx';
import { instant } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { Says } from '../../shared/says.tsx';
import { Refused, Stale } from '../notice.tsx';
import { styleMark } from '../style-mark.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import { AnswerForm } from '../intents/answer-form.tsx';
import { LiveOutput } from './live-output.tsx';
import { RunActions } from './run-actions.tsx';
import { tookOf } from './run-words.tsx';
import type { Followed } from './use-events.ts';

interface Props {
  readonly run: ReadableRun;
  readonly followed: Followed;
  readonly onChange: () => void;
}

/** The page of an agent, script or intent run, finished or running. */
export function RunPageView({ run, followed, onChange }: Props) {
  const [isBehind, setIsBehind] = useState(false);
  const path = `/v1/runs/${encodeURIComponent(run.run_id)}/page`;
  const { value, refusal, again } = useAnswer<EmbeddedPage>(path, isBehind ? BEHIND_MS : undefined);
  useEffect(() => setIsBehind(run.state === 'finished' && value !== undefined && isOpen(value)), [run.state, value]);
  useAgainOn(followed.changes, again);
  useAgainOn(run.kind === 'agent' ? followed.streamed : NONE, again, TRANSCRIPT_MS);
  const page = useMemo(() => value && { ...value, style_mark: styleMark() }, [value]);
  useTitle(page ? `${page.top.word} · ${run.run_id}` : run.run_id);
  if (!page) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  const took = tookOf(run);
  const Body = KINDS[page.kind] as ComponentType<KindProps<typeof page.kind>>;
  return (
    <>
      <section class="verdict live-verdict" data-tone={page.top.tone} aria-label="Verdict">
        <p class="live-what">
          {page.top.subject} <RunId value={run.run_id} />
          {run.started_at !== null && <span class="when"> · {instant(run.started_at)}</span>}
          {took !== '' && ` · ${took}`}
        </p>
        <Says top={page.top}>
          <RunActions run={run} onChange={onChange} />
        </Says>
      </section>
      <Stale refusal={refusal} />
      {run.state === 'running' && <LiveOutput followed={followed} />}
      <Body data={page.data} page={page} answering={list => <AnswerForm runId={run.run_id} list={list} />} />
    </>
  );
}

const isOpen = ({ data }: EmbeddedPage): boolean => 'evidence' in data && data.evidence.is_open;

/** Asks again after a change, at most once per `pauseMs`. The last change is never missed. */
export function useAgainOn(changes: unknown, again: () => void, pauseMs = PAUSE_MS): void {
  const timer = useRef(0);
  const seen = useRef(changes);
  useEffect(() => {
    if (changes === seen.current || timer.current !== 0) return;
    timer.current = Number(
      setTimeout(() => {
        timer.current = 0;
        again();
      }, pauseMs),
    );
    seen.current = changes;
  }, [changes, again]);
  useEffect(() => () => clearTimeout(timer.current), []);
}

const NONE: readonly never[] = [];
const PAUSE_MS = 700;
/** The timeline and the transcript of a page follow the newest output, which is above them, at this pace. */
const TRANSCRIPT_MS = 4_000;
/** The server may answer with a page that it read shortly before the run ended. */
const BEHIND_MS = 1_000;

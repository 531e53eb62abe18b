import { useEffect, useRef, useState } from 'preact/hooks';
import type { RunEvent, RunEventKind } from '../../../src/contracts/run-events.ts';
import { follow } from '../api.ts';

/** What a view keeps of the events of a run. */
export interface Followed {
  readonly isConnected: boolean;
  /** The last event of the run has arrived. */
  readonly isOver: boolean;
  /** Counts the events that change documents, so that a view knows when to ask again. */
  readonly changes: number;
  /** The newest lines of the journal, newest first. */
  readonly latest: readonly RunEvent[];
  /** The newest cases of a suite that failed or have no answer, newest first. */
  readonly failing: readonly CaseEvent[];
  /** The newest output and transcript of a running program, oldest first. */
  readonly streamed: readonly RunEvent[];
}

export type CaseEvent = Extract<RunEvent, { kind: 'case' }>;

const NOTHING: Followed = {
  isConnected: false,
  isOver: false,
  changes: 0,
  latest: [],
  failing: [],
  streamed: [],
};

/** Follows a run while `isOn`. Events are gathered, and the view changes at most once per frame. */
export function useRunEvents(runId: string, isOn: boolean): Followed {
  const [shown, setShown] = useState(NOTHING);
  const gathered = useRef(NOTHING);
  useEffect(() => {
    if (!isOn) return undefined;
    gathered.current = NOTHING;
    let frame = 0;
    const soon = (next: Followed): void => {
      gathered.current = next;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setShown(gathered.current);
      });
    };
    const stop = follow(`/v1/runs/${encodeURIComponent(runId)}/events`, KINDS, {
      onEvent: (kind, data, id) => soon(withEvent(gathered.current, { kind, data, id } as RunEvent)),
      onState: isConnected => soon({ ...gathered.current, isConnected }),
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [runId, isOn]);
  return shown;
}

function withEvent(last: Followed, event: RunEvent): Followed {
  if (event.kind === 'restart') return { ...NOTHING, isConnected: last.isConnected, changes: last.changes + 1 };
  if (event.kind === 'output' || event.kind === 'transcript' || event.kind === 'cut')
    return { ...last, streamed: [...last.streamed.slice(1 - STREAMED_MAX), event] };
  const isOver = event.kind === 'sealed' || event.kind === 'gone';
  return {
    ...last,
    isOver: last.isOver || isOver,
    changes: last.changes + 1,
    latest: [event, ...last.latest.slice(0, LATEST_MAX - 1)],
    failing: event.kind === 'case' ? withCase(last.failing, event) : last.failing,
  };
}

/** A later event of a case replaces the one before. */
function withCase(failing: readonly CaseEvent[], event: CaseEvent): readonly CaseEvent[] {
  const { case_id: id, status, verdict } = event.data;
  const isFailing = status === 'runner_error' || verdict === 'fail';
  const isListed = failing.some(({ data }) => data.case_id === id);
  if (!isFailing && !isListed) return failing;
  const others = isListed ? failing.filter(({ data }) => data.case_id !== id) : failing;
  return isFailing ? [event, ...others.slice(0, FAILING_MAX - 1)] : others;
}

const FAILING_MAX = 200;
const LATEST_MAX = 100;
const STREAMED_MAX = 400;

/** Every kind that the server sends. A browser ignores the events that nothing listens to. */
const KINDS = Object.keys({
  laying: true,
  planned: true,
  begun: true,
  sent: true,
  running: true,
  failed: true,
  case: true,
  left: true,
  started: true,
  captured: true,
  read: true,
  noted: true,
  other: true,
  output: true,
  transcript: true,
  cut: true,
  dead: true,
  foreign: true,
  restart: true,
  sealed: true,
  gone: true,
} satisfies Record<RunEventKind, true>) as readonly RunEventKind[];

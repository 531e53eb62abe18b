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
  /** The newest output and transcript of a running program, oldest first. */
  readonly streamed: readonly RunEvent[];
}

const NOTHING: Followed = { isConnected: false, isOver: false, changes: 0, latest: [], streamed: [] };

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
  };
}

const LATEST_MAX = 100;
const STREAMED_MAX = 400;

const KINDS: readonly RunEventKind[] = [
  'laying',
  'planned',
  'begun',
  'sent',
  'failed',
  'case',
  'left',
  'started',
  'captured',
  'read',
  'noted',
  'other',
  'output',
  'transcript',
  'cut',
  'dead',
  'foreign',
  'restart',
  'sealed',
  'gone',
];

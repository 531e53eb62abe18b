import { useEffect, useState } from 'preact/hooks';
import type { ReadableRun } from '../../../src/serve/runs/run-index.ts';
import { Refused } from '../notice.tsx';
import { useHas } from '../session.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { RunPageView, useAgainOn } from './run-page-view.tsx';
import { isSuite } from './run-words.tsx';
import { SuiteReport } from './suite-report.tsx';
import { SuiteView } from './suite-view.tsx';
import { useRunEvents } from './use-events.ts';

/** One run of any kind, live while it runs. */
export function RunView({ place, parts: [id = ''] }: ViewProps) {
  const [isUnwritten, setIsUnwritten] = useState(false);
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  const { value: run, refusal, again } = useAnswer<ReadableRun>(path, isUnwritten ? UNWRITTEN_MS : EVERY_MS);
  const isOrder = run?.kind === 'intent' && run.started_at === null;
  useEffect(() => setIsUnwritten(isOrder && run?.state !== 'finished'), [isOrder, run?.state]);
  const isOpen = run !== undefined && !isOrder && run.state !== 'finished' && run.state !== 'unreadable';
  const hasEvents = useHas('GET /v1/runs/{run_id}/events');
  const hasPage = useHas('GET /v1/runs/{run_id}/page');
  const followed = useRunEvents(id, isOpen && hasEvents);
  useAgainOn(followed.changes, again);
  useTitle(id);
  if (!run) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  if (isSuite(run.kind)) return <SuiteReport run={run} place={place} followed={followed} onChange={again} />;
  return isOrder || !hasPage ? (
    <SuiteView run={run} followed={followed} refusal={refusal} onChange={again} />
  ) : (
    <RunPageView run={run} followed={followed} onChange={again} />
  );
}

/** Events tell the news. This catches what no event tells, such as a position in the queue. */
const EVERY_MS = 5_000;
/** An ordered intent has no folder, and so no events, until it begins. */
const UNWRITTEN_MS = 500;

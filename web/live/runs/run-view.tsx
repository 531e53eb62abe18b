import type { RunRow } from '../../../src/serve/runs/run-index.ts';
import { Refused } from '../notice.tsx';
import { useHas } from '../session.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { RunPageView, useAgainOn } from './run-page-view.tsx';
import { isSuite } from './run-words.tsx';
import { SuiteView } from './suite-view.tsx';
import { useRunEvents } from './use-events.ts';

/** One run of any kind, live while it runs. */
export function RunView({ place, parts: [id = ''] }: ViewProps) {
  const { value: run, refusal, again } = useAnswer<RunRow>(`/v1/runs/${encodeURIComponent(id)}`, EVERY_MS);
  const isOpen = run !== undefined && run.state !== 'finished' && run.state !== 'unreadable';
  const hasEvents = useHas('GET /v1/runs/{run_id}/events');
  const hasPage = useHas('GET /v1/runs/{run_id}/page');
  const followed = useRunEvents(id, isOpen && hasEvents);
  useAgainOn(followed.changes, again);
  useTitle(id);
  if (!run) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return isSuite(run.kind) || !hasPage ? (
    <SuiteView run={run} place={place} followed={followed} refusal={refusal} onChange={again} />
  ) : (
    <RunPageView run={run} followed={followed} onChange={again} />
  );
}

/** Events tell the news. This catches what no event tells, such as a position in the queue. */
const EVERY_MS = 5_000;

import { useEffect, useRef } from 'preact/hooks';
import type { ReadableRun } from '../../../src/serve/runs/run-index.ts';
import { instant } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { BaselinePicker } from '../comparisons/baseline-picker.tsx';
import type { ReportAnswer } from '../report/case-rows.ts';
import { ReportView } from '../report/report-view.tsx';
import { useVersion } from '../report/use-version.ts';
import type { Place } from '../router.ts';
import { useAnswer } from '../use-answer.ts';
import { LatestEvents } from './latest-events.tsx';
import { RunActions } from './run-actions.tsx';
import { useAgainOn } from './run-page-view.tsx';
import { kindWord, Progress, tookOf } from './run-words.tsx';
import { SuiteView } from './suite-view.tsx';
import type { Followed } from './use-events.ts';

interface Props {
  readonly run: ReadableRun;
  readonly place: Place;
  readonly followed: Followed;
  readonly onChange: () => void;
}

/** A suite run, finished or running: its report, or its state if there is no report yet. */
export function SuiteReport({ run, place, followed, onChange }: Props) {
  const base = `/runs/${encodeURIComponent(run.run_id)}`;
  const { value, refusal, again } = useAnswer<ReportAnswer>(`/v1${base}/report`);
  useAgainOn(followed.changes, again);
  useOnNew(run.state, again);
  const version = useVersion(value);
  // The journal of a waiting run has no owner, so a report on it would call the run interrupted.
  if (!value || run.state === 'waiting') {
    const isLoading = run.state === 'finished' && refusal === undefined;
    return (
      <SuiteView run={run} followed={followed} refusal={refusal} onChange={onChange}>
        {isLoading && (
          <p class="note" role="status">
            Loading the report…
          </p>
        )}
      </SuiteView>
    );
  }
  return (
    <ReportView
      base={base}
      place={place}
      answer={value}
      refusal={refusal}
      version={version}
      bar={<Bar run={run} onChange={onChange} />}
    >
      {(followed.isConnected || followed.latest.length > 0) && <LatestEvents followed={followed} />}
    </ReportView>
  );
}

function Bar({ run, onChange }: Pick<Props, 'run' | 'onChange'>) {
  const took = tookOf(run);
  return (
    <>
      <p class="live-what">
        {kindWord(run.kind)} <RunId value={run.run_id} />
        {run.started_at !== null && <span class="when"> · {instant(run.started_at)}</span>}
        {took !== '' && ` · ${took}`}
      </p>
      {run.state === 'running' && <Progress run={run} />}
      {run.state === 'finished' && <BaselinePicker runId={run.run_id} />}
      <RunActions run={run} onChange={onChange} />
    </>
  );
}

/** Acts when a value changes. */
function useOnNew(value: string, act: () => void): void {
  const last = useRef(value);
  useEffect(() => {
    if (last.current !== value) act();
    last.current = value;
  }, [value, act]);
}

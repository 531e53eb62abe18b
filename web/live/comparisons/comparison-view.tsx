import type { ReportAnswer } from '../report/case-rows.ts';
import { ReportView } from '../report/report-view.tsx';
import { useVersion } from '../report/use-version.ts';
import { instant } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { Refused } from '../notice.tsx';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';

/** One sealed comparison: the verdict, regressions first. */
export function ComparisonView({ place, parts: [id = ''] }: ViewProps) {
  const base = `/comparisons/${encodeURIComponent(id)}`;
  const { value, refusal, again } = useAnswer<ReportAnswer>(`/v1${base}/report`);
  const version = useVersion(value);
  useTitle(id);
  if (!value) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <ReportView base={base} place={place} answer={value} refusal={refusal} version={version} bar={<Bar of={value} />} />
  );
}

function Bar({ of: { head } }: { readonly of: ReportAnswer }) {
  const sides = head.comparison?.sides;
  const [before, now] = [sides?.baseline, sides?.new];
  return (
    <>
      <p class="live-what">
        comparison <RunId value={head.id} />
        <span class="when"> · {instant(head.generated_at)}</span>
      </p>
      <p>
        {before?.source === 'runs' && before.run_ids[0] !== undefined && (
          <a href={`/runs/${encodeURIComponent(before.run_ids[0])}`}>Baseline</a>
        )}{' '}
        {now?.run_ids[0] !== undefined && <a href={`/runs/${encodeURIComponent(now.run_ids[0])}`}>Candidate</a>}
      </p>
    </>
  );
}

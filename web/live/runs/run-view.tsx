import type { RunRow } from '../../../src/serve/runs/run-index.ts';
import { instant } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { Text } from '../../shared/visible.tsx';
import { Refused, Stale } from '../notice.tsx';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { kindWord, Progress, StatePill, tookOf } from './run-words.tsx';

/** One run of any kind. */
export function RunView({ parts: [id = ''] }: ViewProps) {
  const { value, refusal, again } = useAnswer<RunRow>(`/v1/runs/${encodeURIComponent(id)}`, EVERY_MS);
  useTitle(value ? `${value.state === 'finished' ? value.status : value.state} · ${id}` : id);
  if (!value) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <>
      <Stale refusal={refusal} />
      <section class="card" aria-labelledby="run">
        <h1 id="run" class="live-run-title">
          <RunId value={value.run_id} /> <StatePill run={value} />
        </h1>
        {value.subject !== null && (
          <p>
            <Text value={value.subject} />
          </p>
        )}
        <Progress run={value} />
        <p class="note">
          {kindWord(value.kind)}
          {value.started_at !== null && ` · started ${instant(value.started_at)}`}
          {tookOf(value) !== '' && ` · ${tookOf(value)}`}
        </p>
      </section>
    </>
  );
}

const EVERY_MS = 2_000;

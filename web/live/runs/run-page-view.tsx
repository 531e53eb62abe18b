import type { ComponentType } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { EmbeddedPage } from '../../../src/reports/pages/page-kinds.ts';
import type { RunRow } from '../../../src/serve/runs/run-index.ts';
import { KINDS, type KindProps } from '../../pages/kinds.tsx';
import { instant } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { Says } from '../../shared/says.tsx';
import { Refused, Stale } from '../notice.tsx';
import { styleMark } from '../style-mark.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import { LiveOutput } from './live-output.tsx';
import { RunActions } from './run-actions.tsx';
import type { Followed } from './use-events.ts';

interface Props {
  readonly run: RunRow;
  readonly followed: Followed;
  readonly onChange: () => void;
}

/** The page of an agent, script or intent run, finished or running. */
export function RunPageView({ run, followed, onChange }: Props) {
  const { value, refusal, again } = useAnswer<EmbeddedPage>(`/v1/runs/${encodeURIComponent(run.run_id)}/page`);
  useAgainOn(followed.changes, again);
  const page = useMemo(() => value && { ...value, style_mark: styleMark() }, [value]);
  useTitle(page ? `${page.top.word} · ${run.run_id}` : run.run_id);
  if (!page) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  const Body = KINDS[page.kind] as ComponentType<KindProps<typeof page.kind>>;
  return (
    <>
      <section class="verdict live-verdict" data-tone={page.top.tone} aria-label="Verdict">
        <p class="live-what">
          {page.top.subject} <RunId value={run.run_id} />
          {run.started_at !== null && <span class="when"> · {instant(run.started_at)}</span>}
        </p>
        <Says top={page.top}>
          <RunActions run={run} onChange={onChange} />
        </Says>
      </section>
      <Stale refusal={refusal} />
      {run.state === 'running' && <LiveOutput followed={followed} />}
      <Body data={page.data} page={page} />
    </>
  );
}

/** Asks again after a change, at most once per `PAUSE_MS`. The last change is never missed. */
export function useAgainOn(changes: number, again: () => void): void {
  const timer = useRef(0);
  const seen = useRef(changes);
  useEffect(() => {
    if (changes === seen.current || timer.current !== 0) return;
    timer.current = Number(
      setTimeout(() => {
        timer.current = 0;
        again();
      }, PAUSE_MS),
    );
    seen.current = changes;
  }, [changes, again]);
  useEffect(() => () => clearTimeout(timer.current), []);
}

const PAUSE_MS = 700;

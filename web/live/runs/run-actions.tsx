import type { ReadableRun } from '../../../src/serve/runs/run-index.ts';
import { Text } from '../../shared/visible.tsx';
import { order } from '../api.ts';
import { includes, useHas, useWho } from '../session.ts';
import { useAct } from '../use-act.ts';
import { isSuite } from './run-words.tsx';

interface Props {
  readonly run: ReadableRun;
  readonly onChange: () => void;
}

/** What you may do with a run now. */
export function RunActions({ run, onChange }: Props) {
  const isRunner = includes(useWho().role, 'runner');
  const { act, error, isBusy } = useAct();
  const path = `/v1/runs/${encodeURIComponent(run.run_id)}`;
  const post = (what: string): void =>
    act(async () => {
      await order('POST', `${path}/${what}`);
      onChange();
    });
  const hasCancel = useHas('POST /v1/runs/{run_id}/cancel');
  const hasResume = useHas('POST /v1/runs/{run_id}/resume');
  const hasEvidence = useHas('GET /v1/runs/{run_id}/evidence');
  const isAdmin = includes(useWho().role, 'admin');
  const hasLog = useHas('GET /v1/runs/{run_id}/log') && isAdmin;
  const hasPack = useHas('GET /v1/runs/{run_id}/pack');
  const canCancel = hasCancel && isRunner && !run.is_attempt && (run.state === 'running' || run.state === 'waiting');
  const canResume = hasResume && isRunner && run.state === 'interrupted' && isSuite(run.kind);
  return (
    <div class="live-actions">
      {canCancel && (
        <button type="button" class="live-button" disabled={isBusy} onClick={() => post('cancel')}>
          {isBusy ? 'Cancelling…' : 'Cancel'}
        </button>
      )}
      {canResume && (
        <button type="button" class="live-button" disabled={isBusy} onClick={() => post('resume')}>
          Resume
        </button>
      )}
      {hasEvidence && run.state === 'finished' && (
        <a class="live-button" href={`/runs/${encodeURIComponent(run.run_id)}/evidence`}>
          Evidence
        </a>
      )}
      {hasLog && ['script', 'agent', 'intent'].includes(run.kind) && (
        <a class="live-button" href={`/runs/${encodeURIComponent(run.run_id)}/log`}>
          Log
        </a>
      )}
      {hasPack && run.state === 'finished' && (
        <a class="live-button" href={`${path}/pack`} download>
          Download pack
        </a>
      )}
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </div>
  );
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { Masker, maskingOf } from '../../base/masker.ts';
import { readRegular } from '../../base/regular.ts';
import type { Signer } from '../../contracts/seal/signature.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import type { Requested } from '../../policy/effective-limits.ts';
import { questionOf } from '../../targets/kinds/proctor.ts';
import { readReply, type SideName } from '../../targets/reply.ts';
import { executeScript, type ScriptAnswer } from '../script/script.ts';
import type { SuiteSettings } from './settings.ts';
import {
  type Body,
  CANCELLED,
  type FailedAttempt,
  type CaseQuestion,
  type Target,
  type AttemptResult,
} from './target.ts';

export interface ScriptAgent {
  readonly script: string;
  readonly side: SideName;
  readonly runId: string;
  readonly launcher: () => Promise<Launcher>;
  readonly home: string;
  readonly signer: Signer | undefined;
  readonly bounds: Requested;
  readonly secrets: Readonly<Record<string, string>>;
  readonly keepCredentials?: boolean;
  readonly settings: SuiteSettings;
}

/**
 * Runs a script as the target. The script reads input/case.json and writes output/reply.json or standard output. Every
 * attempt is a separate run with its own evidence.
 */
export function scriptTarget(agent: ScriptAgent): Target {
  return {
    async ask({ one, key, signal, onRun }: CaseQuestion): Promise<AttemptResult> {
      const folder = mkdtempSync(path.join(tmpdir(), 'proctor-case-'));
      try {
        const question = path.join(folder, 'case.json');
        writeFileSync(question, questionOf(one, agent.side, agent.runId));
        const answer = await executeScript(
          {
            script: agent.script,
            inputs: [question],
            args: [],
            env: { PROCTOR_IDEMPOTENCY_KEY: key },
            secrets: agent.secrets,
            bounds: agent.bounds,
            keepCredentials: agent.keepCredentials === true,
            caps: { stdoutBytes: agent.settings.bodyBytesMax },
          },
          {
            launcher: await agent.launcher(),
            home: agent.home,
            signer: agent.signer,
            signal,
            onFolder: ({ id }) => onRun?.(id),
          },
        );
        const latencyMs = answer.completedAtMs - answer.plan.startedAtMs;
        return { latencyMs, runId: answer.place.id, outcome: judged(answer, one.id, agent) };
      } catch (error) {
        if (signal.aborted) return { latencyMs: 0, outcome: CANCELLED };
        throw error;
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    // Nothing to do: each attempt observes its own abort signal.
    cancel: () => undefined,
    close: async () => undefined,
  };
}

function judged({ place, ending, reading }: ScriptAnswer, id: string, agent: ScriptAgent): AttemptResult['outcome'] {
  const { bodyBytesMax } = agent.settings;
  if (ending.how === 'killed' && ending.by === 'cancel') return CANCELLED;
  const reply = readRegular(path.join(place.folder, 'output', 'reply.json'), bodyBytesMax);
  const raw = reply ?? readRegular(path.join(place.folder, 'evidence/steps/script/stdout.txt'), bodyBytesMax);
  // Masks what goes into the artifact. The file in output/ stays unchanged.
  const masker = new Masker(maskingOf(Object.values(agent.secrets), agent.keepCredentials));
  const said = raw && masker.whole(raw);
  const body: Body | undefined =
    said && said.length > 0
      ? { bytes: said, bytesTotal: said.length, truncated: false, contentType: null, headers: {} }
      : undefined;
  const failed = (failure: Omit<FailedAttempt, 'ok' | 'body'>): FailedAttempt => ({
    ...failure,
    ok: false,
    masked: masker.kinds,
    ...(body && { body }),
  });
  if (reading.status === 'timed_out') {
    return failed({ class: 'timeout', message: 'The script timed out.', mayRetry: true });
  }
  if (ending.how === 'lost' || ending.how === 'not_started') {
    throw new Fault('script_failed', 'The script could not be run.');
  }
  // A reply counts even without a result.json.
  if (ending.how !== 'exited' || ending.code !== 0) {
    return failed({ class: 'schema_mismatch', message: 'The script failed.', mayRetry: false });
  }
  const names = { caseId: id, side: agent.side, isLenient: false };
  const answer = readReply(said ?? Buffer.alloc(0), bodyBytesMax, names);
  return answer.ok
    ? { ...answer, masked: masker.kinds, bytes: said?.length ?? 0 }
    : failed({ ...answer, mayRetry: false });
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { Signer } from '../../contracts/seal/signature.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import type { Requested } from '../../policy/effective-limits.ts';
import { questionOf } from '../../targets/kinds/proctor.ts';
import { executeScript } from '../script/script.ts';
import { scriptAnswer, type ScriptReader } from './script-answer.ts';
import type { SuiteSettings } from './settings.ts';
import { CANCELLED, type CaseQuestion, type Target, type AttemptResult } from './target.ts';

export interface ScriptAgent extends ScriptReader {
  readonly script: string;
  readonly runId: string;
  readonly launcher: () => Promise<Launcher>;
  readonly home: string;
  readonly signer: Signer | undefined;
  readonly bounds: Requested;
  readonly settings: SuiteSettings;
}

/** The file with the case, and the only variable that every script gets. */
export const SCRIPT_CASE = 'case.json';
export const SCRIPT_KEY = 'PROCTOR_IDEMPOTENCY_KEY';

/**
 * Runs a script as the target. The script reads input/case.json and writes output/reply.json or standard output. Every
 * attempt is a separate run with its own evidence.
 */
export function scriptTarget(agent: ScriptAgent): Target {
  return {
    async ask({ one, key, signal, onRun }: CaseQuestion): Promise<AttemptResult> {
      const folder = mkdtempSync(path.join(tmpdir(), 'proctor-case-'));
      try {
        const question = path.join(folder, SCRIPT_CASE);
        writeFileSync(question, questionOf(one, agent.side, agent.runId));
        const { place, plan, ending, reading, completedAtMs } = await executeScript(
          {
            script: agent.script,
            inputs: [question],
            args: [],
            env: { [SCRIPT_KEY]: key },
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
        const outcome = scriptAnswer(place.folder, { status: reading.status, ending }, one.id, agent);
        if (!outcome) throw new Fault('script_failed', 'The script could not be run.');
        return { latencyMs: completedAtMs - plan.startedAtMs, runId: place.id, outcome };
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

import path from 'node:path';
import type { AgentRequest, StepManifest } from '../contracts/agent-step/index.ts';
import type { CheckResult } from '../contracts/check-result/index.ts';
import { checkFolder, checkStep } from '../evidence/agent/check-steps.ts';
import type { Surroundings } from './inspector.ts';
import { CHANGED_STREAM, changedStreams } from './streams.ts';

interface WrittenCheck<Value> {
  readonly file: string;
  readonly value: Value;
}

/** The checks of one agent run: their results and manifests, by step. */
export interface RunChecks {
  readonly results: Map<string, WrittenCheck<CheckResult>>;
  readonly manifests: Map<string, WrittenCheck<StepManifest>>;
}

/** Where the checks of a run disagree with its request, its outcome and its files. */
export function* checkDisagreements(
  { results, manifests }: RunChecks,
  run: {
    readonly folder: string;
    readonly runId: string;
    readonly request: WrittenCheck<AgentRequest> | undefined;
  },
  surroundings: Surroundings,
): Generator<readonly [file: string, at: string | undefined, message: string]> {
  const { folder, runId, request } = run;
  const named = new Set(request?.value.checks ?? []);
  for (const name of named) {
    const file = path.posix.join(folder, checkFolder(name), 'check_result.json');
    if (!results.has(checkStep(name)) && !surroundings.troubled.has(file) && request)
      yield [request.file, 'checks', `names ${name}, but the run has no result of this check`];
  }
  for (const [step, { file, value }] of results) {
    if (value.run_id !== runId) yield [file, 'run_id', 'differs from the outcome'];
    if (checkStep(value.name) !== step) yield [file, 'name', 'differs from the name of its step'];
    if (request && !named.has(value.name)) yield [file, 'name', 'is not among the checks of the request'];
    const manifest = manifests.get(step);
    if (manifest && (manifest.value.termination === 'completed') !== (value.verdict === 'passed'))
      yield [manifest.file, 'termination', 'does not match the verdict of the check'];
    const streamOf = (stream: string): string => path.posix.join(path.posix.dirname(file), `${stream}.txt`);
    for (const changed of changedStreams(value.streams, streamOf, surroundings))
      yield [changed, undefined, CHANGED_STREAM];
  }
}

import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import {
  type Bundle,
  foldersAbove,
  type Intent,
  type IntentOutcome,
  type IntentRequest,
  isShownCommand,
  isBelowRoots,
  intentPlan,
  sandboxIdOf,
} from '../contracts/intent/index.ts';
import type { RunResult } from '../contracts/run-result/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import { isExitOf } from '../evidence/step/endings.ts';
import { INTENT_STEP_FOLDER } from '../evidence/intent/intent-documents.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { FolderDocument, Inspector, Surroundings } from './inspector.ts';
import { CHANGED_STREAM, changedStreams } from './streams.ts';
import { above, filesBelow } from './walk.ts';

/** The documents of one intent run. */
interface Run {
  result?: { readonly file: string; readonly value: RunResult };
  intent?: Intent;
  bundle?: Bundle;
  request?: IntentRequest;
  runner?: Runner;
  outcome?: IntentOutcome;
}

/** FD11: result, intent, bundle, request, runner and outcome must describe the same decision and ending. */
export function intentInspector(surroundings: Surroundings): Inspector {
  const { tree, hashOf, report } = surroundings;
  const runs = new Map<string, Run>();
  return {
    take(document) {
      const folder = above(document.file, isAtTop(document) ? 0 : 1);
      if (folder === undefined || !KNOWN.has(document.contract.name)) return;
      const run = runs.get(folder) ?? {};
      runs.set(folder, run);
      note(run, document);
    },

    end() {
      for (const [folder, run] of runs) {
        const { result } = run;
        if (!result || !run.request) continue;
        const output = path.posix.join(folder, 'output/');
        const listed = new Set((result.value.execution?.outputs ?? []).map(({ path: file }) => output + file));
        for (const file of filesBelow(output, tree)) {
          if (!listed.has(file)) report({ rule: FOLDER_RULES.FD11.id, level: 'must', file, message: UNLISTED });
        }
        const recording = path.posix.join(folder, 'model_io.json');
        const given = run.request.recording?.sha256;
        if (given !== (tree.files.has(recording) ? hashOf(recording) : undefined))
          report({ rule: FOLDER_RULES.FD11.id, level: 'must', file: recording, message: REPLACED });
        const streamOf = (name: string): string => path.posix.join(folder, INTENT_STEP_FOLDER, `${name}.txt`);
        for (const file of changedStreams(run.outcome?.streams ?? [], streamOf, surroundings))
          report({ rule: FOLDER_RULES.FD11.id, level: 'must', file, message: CHANGED_STREAM });
        for (const [at, message] of disagreements(run, result.value, run.request))
          report({ rule: FOLDER_RULES.FD11.id, level: 'must', file: result.file, at, message });
      }
    },
  };
}

const REPLACED = 'does not match the recording that the request names';

const UNLISTED = 'is not listed in the outputs of the execution';

const KNOWN: ReadonlySet<string> = new Set([
  'run-result',
  'intent',
  'bundle',
  'intent-request',
  'runner',
  'intent-outcome',
]);

function isAtTop({ contract }: FolderDocument): boolean {
  return ['run-result', 'intent', 'bundle'].includes(contract.name);
}

function note(run: Run, { file, contract, value }: FolderDocument): void {
  if (contract.name === 'run-result') run.result = { file, value: value as RunResult };
  if (contract.name === 'intent') run.intent = value as Intent;
  if (contract.name === 'bundle') run.bundle = value as Bundle;
  if (contract.name === 'intent-request') run.request = value as IntentRequest;
  if (contract.name === 'runner') run.runner = value as Runner;
  if (contract.name === 'intent-outcome') run.outcome = value as IntentOutcome;
}

type Disagreement = readonly [at: string, message: string];

function* disagreements(run: Run, result: RunResult, request: IntentRequest): Generator<Disagreement> {
  if (result.run_id !== request.run_id) yield ['run_id', 'differs from the request'];
  if (result.intent.path !== request.intent.name) yield ['intent.path', 'differs from the name in the request'];
  if (result.policy.name !== request.policy) yield ['policy.name', 'differs from the profile in the request'];
  if (result.model_mode !== request.model_mode) yield ['model_mode', 'differs from the request'];
  const isRun = result.kernel_result_kind === 'BUNDLE' && request.mode === 'execute-sandbox';
  const isInterrupted = run.outcome?.recovered !== undefined;
  if (isInterrupted && result.decision.accepted)
    yield ['decision.accepted', 'must be false, because the run was interrupted and recovered'];
  if (isRun !== (result.execution !== null) && !(isRun && isInterrupted))
    yield ['execution', 'must be present if and only if Proctor was asked to run the bundle'];
  if (result.bundle && !run.bundle) yield ['bundle', 'names a bundle, but there is no readable bundle.json'];
  if (run.bundle) yield* fromBundle(result, run.bundle, run.runner);
  if (run.bundle && run.intent) yield* fromIntent(result, run.bundle, run.intent);
  if (run.bundle && result.kernel_result_kind === 'BUNDLE') yield* fromPolicy(result, run.bundle);
  if (!result.execution && (run.outcome || run.runner) && !isInterrupted)
    yield ['execution', 'is null, although there is an outcome or a runner record'];
  if (!result.execution) return;
  if (!run.runner || !run.outcome) yield ['execution', 'has no readable outcome and runner record'];
  if (run.bundle && result.execution.sandbox_id !== sandboxIdOf(run.bundle.bundle_id, result.policy))
    yield ['execution.sandbox_id', 'does not match this bundle under this policy'];
  if (run.outcome) yield* fromOutcome(result.execution, run.outcome, run);
}

function* fromBundle(result: RunResult, bundle: Bundle, runner: Runner | undefined): Generator<Disagreement> {
  if (!result.bundle) yield ['bundle', 'is null, although there is a bundle.json'];
  else if (result.bundle.bundle_id !== bundle.bundle_id) yield ['bundle.bundle_id', 'differs from bundle.json'];
  if (result.intent.sha256 !== bundle.intent_sha256)
    yield ['intent.sha256', 'differs from the intent that the bundle was made from'];
  if ((result.kernel_result_kind === 'BUNDLE') !== (bundle.status === 'complete'))
    yield ['kernel_result_kind', 'does not match the status of the bundle'];
  const asked = bundle.questions.map(({ text }) => text);
  if (canonicalize(result.clarify_questions ?? []) !== canonicalize(asked))
    yield ['clarify_questions', 'differ from the questions of the bundle'];
  for (const name of ['timeout_ms', 'max_output_files', 'max_total_output_bytes'] as const) {
    if (bundle.limits[name] > result.policy[name]) yield [`policy.${name}`, 'is less than the limit in the bundle'];
    if (runner && runner.limits[name] !== bundle.limits[name])
      yield ['bundle', `has a different ${name} limit than runner.json`];
  }
  if (runner && canonicalize(runner.write_roots) !== canonicalize(bundle.write_roots))
    yield ['bundle', 'has different write roots than runner.json'];
  if (runner && runner.sandbox.network_blocked === bundle.network)
    yield ['bundle', 'allows different network access than runner.json'];
  if (
    runner &&
    canonicalize(runner.commands.allowlist) !== canonicalize([...new Set(result.policy.allowed_commands)].sort())
  )
    yield ['policy.allowed_commands', 'differ from the allowlist in runner.json'];
}

/** The bundle follows from the intent and the profile, so it is computed again. */
function* fromIntent({ policy }: RunResult, bundle: Bundle, intent: Intent): Generator<Disagreement> {
  for (const [key, value] of Object.entries(intentPlan(intent, policy))) {
    if (canonicalize(value) !== canonicalize(bundle[key as keyof Bundle]))
      yield ['bundle', `does not have the ${key} that intent.json requires under the policy`];
  }
}

/** A complete bundle must not request anything that its profile forbids. */
function* fromPolicy({ policy }: RunResult, { commands, outputs, network }: Bundle): Generator<Disagreement> {
  const { allowed_commands: allowed, allowed_write_roots: roots } = policy;
  if (allowed.length > 0 && !commands.every(({ argv: [program = ''] }) => allowed.includes(program)))
    yield ['policy.allowed_commands', 'do not contain a command of the bundle'];
  if (!outputs.every(output => isBelowRoots(output, roots)))
    yield ['policy.allowed_write_roots', 'do not contain an output of the bundle'];
  if (network && !policy.allow_network)
    yield ['policy.allow_network', 'forbids the network access that the bundle requests'];
}

function* fromOutcome(
  execution: NonNullable<RunResult['execution']>,
  outcome: IntentOutcome,
  { runner, bundle }: Run,
): Generator<Disagreement> {
  const { ending, checks, missing_outputs, refused, command } = outcome;
  if (runner && !isExitOf(ending, runner.exit))
    yield ['execution.exit_code', 'depends on an ending that differs from runner.json'];
  const endedWell = ending.how === 'exited' && ending.code === 0;
  const heldAll = refused === null && missing_outputs.length === 0 && checks.every(({ held }) => held);
  if ((execution.exit_code === 0) !== (endedWell && heldAll))
    yield ['execution.exit_code', 'does not match how the commands ended and which checks passed'];
  if (bundle && !isShownCommand(execution.cmd, bundle.commands[command ?? 0]?.argv ?? []))
    yield ['execution.cmd', 'differs from the command of the bundle that ended the run'];
  if (bundle && refused === null && canonicalize(checks.map(asked)) !== canonicalize(bundle.accept.map(asked)))
    yield ['execution', 'depends on checks that differ from those of the bundle'];
  const listed = execution.outputs.map(({ path: file }) => file);
  const there = new Set([...listed, ...listed.flatMap(foldersAbove), ...missing_outputs]);
  if (bundle && refused === null && !bundle.outputs.every(file => there.has(file)))
    yield ['execution.outputs', 'lack an output of the bundle that is not reported as missing'];
  if (execution.total_output_bytes !== execution.outputs.reduce((sum, { size_bytes }) => sum + size_bytes, 0))
    yield ['execution.total_output_bytes', 'is not the sum of the output sizes'];
  for (const { name, sha256 } of outcome.streams) {
    if (execution[`${name}_sha256`] !== sha256) yield [`execution.${name}_sha256`, 'differs from the outcome'];
  }
}

/** The parts of a check that the bundle determines. */
function asked({
  check,
  path: file = null,
}: {
  readonly check: string;
  readonly path?: string | null | undefined;
}): unknown {
  return { check, path: file };
}

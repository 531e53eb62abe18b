import { chmodSync, cpSync, lstatSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId, newRunId } from '../../base/ids.ts';
import { makeFolders } from '../../base/private.ts';
import { check } from '../../contracts/check.ts';
import type { Intent, IntentRequest } from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import { type RunResult, runResult } from '../../contracts/run-result/index.ts';
import type { Document } from '../../evidence/document.ts';
import { finish, sealingOf } from '../../evidence/run-folder/finish.ts';
import { intentDocuments } from '../../evidence/intent/intent-documents.ts';
import type { RecordedDecision, IntentLine, IntentPlan, IntentTexts } from '../../evidence/intent/intent-run.ts';
import { Journal } from '../../evidence/run-folder/journal.ts';
import { makeRunFolder, type RunFolder } from '../../evidence/run-folder/runs.ts';
import { storedFiles } from '../../evidence/run-folder/sealed-files.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import { ownerHere } from '../pipeline/runner-plan.ts';
import type { RunContext } from '../pipeline/journaled-run.ts';
import { type IntentDecision, decideIntent } from './decide.ts';
import { executeBundle, type JudgeAccept } from './execute.ts';
import type { IntentMode } from './questions.ts';
import type { Given } from './read-intent.ts';
import { IntentFault } from './intent-fault.ts';

/** An intent to decide, and everything that the decision depends on. */
export interface IntentOrder {
  /** The id of the run; a new one by default. */
  readonly id?: string;
  readonly intent: Intent;
  readonly given: Given;
  readonly answers: { readonly values: Readonly<Record<string, unknown>>; readonly given: Given } | null;
  readonly recording: { readonly bytes: Uint8Array; readonly given: Given } | null;
  /** Proposes a plan for a bare goal. */
  readonly propose?: (intent: Intent) => Readonly<Record<string, unknown>>;
  readonly mode: IntentMode;
  readonly profile: Profile;
  readonly modelMode: IntentRequest['model_mode'];
  readonly judgeAccept: JudgeAccept;
  /** Throws if a check cannot be judged. Called before anything runs. */
  readonly checkAccept: (checks: NonNullable<Intent['accept']>) => void;
  /** Called once the intent is decided, before anything runs. */
  readonly onDecided?: () => void;
  /** A folder to copy the sandbox's files to. */
  readonly keepIn?: string;
  readonly keepCredentials?: boolean;
}

/** The context of an intent run. The launcher is opened only if something runs. */
export interface IntentContext extends Omit<RunContext, 'launcher'> {
  readonly launcher: () => Promise<Launcher>;
}

export interface IntentAnswer {
  readonly place: RunFolder;
  readonly result: RunResult;
  /** The copy of the sandbox's files, if one was requested. */
  readonly keptIn: string | undefined;
}

/** Decides an intent, executes its plan if requested, and writes the evidence. */
export async function executeIntent(order: IntentOrder, around: IntentContext): Promise<IntentAnswer> {
  const startedAtMs = systemClock.now();
  const decision = decideIntent({
    intent: order.intent,
    answers: order.answers?.values ?? {},
    mode: order.mode,
    profile: order.profile,
    ...(order.propose && { propose: order.propose }),
  });
  order.checkAccept(decision.intent.accept ?? []);
  order.onDecided?.();
  const id = order.id ?? newRunId('intent', systemClock);
  const plan = planOf(id, order, decision, startedAtMs);
  const texts: IntentTexts = {
    intent: decision.text,
    bundle: decision.kind === 'REFUSE' ? null : decision.bundle,
    recording: order.recording?.bytes ?? null,
  };
  if (decision.kind !== 'BUNDLE' || order.mode === 'plan-only') return writeDecision(plan, texts, around);
  const launcher = await around.launcher();
  const keptIn = order.keepIn && path.join(order.keepIn, id);
  const { place, documents } = await executeBundle({
    id,
    intent: decision.intent,
    bundle: decision.bundle,
    texts,
    plan,
    judgeAccept: order.judgeAccept,
    ...(order.keepCredentials && { keepCredentials: true }),
    context: { ...around, launcher },
    ...(keptIn !== undefined && { onEnded: workFolder => keep(workFolder, keptIn) }),
  });
  return { place, result: resultIn(documents, order.profile), keptIn };
}

function planOf(
  id: string,
  order: IntentOrder,
  decision: IntentDecision,
  startedAtMs: number,
): Omit<IntentPlan, 'going'> {
  return {
    request: {
      schema_version: 'intent-request.v1',
      run_id: id,
      kind: 'intent',
      intent: order.given,
      answers: order.answers?.given ?? null,
      recording: order.recording?.given ?? null,
      mode: order.mode,
      policy: order.profile.name,
      model_mode: order.modelMode,
    },
    policy: order.profile,
    intentSha256: decision.sha256,
    decided: decidedOf(decision),
    correlationId: newCorrelationId(),
    startedAtMs,
    owner: ownerHere(),
  };
}

function decidedOf(decision: IntentDecision): RecordedDecision {
  if (decision.kind === 'REFUSE') return { kind: 'REFUSE', refusals: decision.refusals };
  return { kind: decision.kind, questions: decision.kind === 'CLARIFY' ? decision.questions : [] };
}

/** Seals a decision without running anything. After a crash before the seal, recovery removes the folder. */
async function writeDecision(plan: IntentPlan, texts: IntentTexts, around: IntentContext): Promise<IntentAnswer> {
  const place = makeRunFolder(around.home, 'intent', plan.request.run_id);
  const journal = Journal.open<IntentLine>(place.folder);
  try {
    journal.append({ is: 'planned', plan });
    around.onFolder?.(place);
    const completedAtMs = Math.max(systemClock.now(), plan.startedAtMs);
    const none = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    const documents = intentDocuments({ plan, completedAtMs }, texts, none);
    await finish(place.folder, {
      runId: place.id,
      kind: 'intent',
      documents,
      stored: storedFiles([]),
      passing: [],
      sealedAtMs: completedAtMs,
      ...sealingOf(around),
    });
    journal.remove();
    return { place, result: resultIn(documents, plan.policy), keptIn: undefined };
  } catch (error) {
    journal.close();
    throw error;
  }
}

/** The result as it was written. Throws if it breaks a rule. */
function resultIn(documents: readonly Document[], policy: Profile): RunResult {
  const [, text = ''] = documents.find(([file]) => file === 'run.json') ?? [];
  const result = JSON.parse(String(text)) as RunResult;
  const { violations } = check(runResult, result, { strict: true, internal: false, profileBeside: policy });
  const [first] = violations;
  if (!first) return result;
  throw new IntentFault('evidence_invalid', `The run's result does not verify: ${first.message}`, {
    ruleId: first.rule_id,
  });
}

/** Copies the sandbox's files, folders and symlinks, after all its processes have ended. */
async function keep(workFolder: string, target: string): Promise<void> {
  try {
    makeFolders(path.dirname(target));
    cpSync(path.join(workFolder, 'output'), target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: source => {
        const stat = lstatSync(source, { throwIfNoEntry: false });
        // Sets private modes, so that the program cannot leave setuid files or files that other users can read.
        if (stat?.isFile() || stat?.isDirectory()) chmodSync(source, stat.mode & 0o700);
        return stat?.isFile() === true || stat?.isDirectory() === true || stat?.isSymbolicLink() === true;
      },
    });
  } catch (cause) {
    throw new Fault('not_kept', "The sandbox's files could not be copied.", { cause });
  }
}

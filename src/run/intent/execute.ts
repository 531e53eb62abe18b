import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import {
  type AcceptCheck,
  type Bundle,
  type Intent,
  type IntentOutcome,
  isBelowRoots,
} from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import { flaggedFiles } from '../../evidence/ingest/flags.ts';
import { ingestOutput, type OutputReading } from '../../evidence/ingest/output.ts';
import { intentDocuments } from '../../evidence/intent/intent-documents.ts';
import { intentKind } from '../../evidence/intent/intent-recover.ts';
import type { ExecutionPlan, IntentPlan, IntentReading, IntentTexts } from '../../evidence/intent/intent-run.ts';
import type { CaptureNote } from '../../evidence/step/capture-note.ts';
import type { Job } from '../../execute/job/job.ts';
import type { Machine } from '../../execute/host/machine.ts';
import { PATH_FOLDERS } from '../../execute/host/programs.ts';
import { type Effective, effectiveLimits } from '../../policy/effective-limits.ts';
import { capsFrom } from '../../policy/caps.ts';
import { enforcementOf } from '../pipeline/enforcement.ts';
import type { JudgedStep, JournaledRun, RunContext, SealedRun, StartedRun } from '../pipeline/journaled-run.ts';
import { runJournaled } from '../pipeline/pipeline.ts';
import { furtherLimits, limitsOf, LOCALE, offersOf, runnerOf } from '../pipeline/runner-plan.ts';
import { refuseLostSandbox, type WatchedStreams, watchStreams } from '../pipeline/steps.ts';
import { intentReading } from './reading.ts';

/** Runs an intent's checks on the stored outputs. */
export type JudgeAccept = (
  checks: readonly AcceptCheck[],
  folder: string,
  files: ReadonlyMap<string, { readonly sha256: string; readonly bytes: number }>,
) => Promise<IntentOutcome['checks']>;

export interface IntentExecution {
  readonly id: string;
  readonly intent: Intent;
  readonly bundle: Bundle;
  readonly texts: IntentTexts;
  readonly plan: Omit<IntentPlan, 'going'>;
  readonly judgeAccept: JudgeAccept;
  /** Store well-known credentials unmasked. */
  readonly keepCredentials?: boolean;
  /** Called before the sandbox is closed. */
  readonly onEnded?: (workFolder: string) => Promise<void>;
  readonly context: RunContext;
}

interface IntentTypes {
  readonly plan: IntentPlan;
  readonly made: { readonly job: Job };
  readonly seen: WatchedStreams;
  readonly judged: JudgedStep<IntentReading>;
}

/** Runs the commands of a bundle in a sandbox, under its policy, and writes the evidence. */
export async function executeBundle(execution: IntentExecution): Promise<SealedRun<IntentTypes>> {
  return runJournaled(execution.context, machine => intentRun(execution, machine));
}

function intentRun(execution: IntentExecution, machine: Machine): JournaledRun<IntentTypes> {
  const { id, bundle, plan, texts } = execution;
  const effective = effectiveFor(bundle, plan.policy, offersOf(machine));
  return {
    kind: intentKind,
    id,
    prepare(stage, folder) {
      const staged = layOut(execution, stage);
      const keepIn = path.join(folder, 'evidence', 'internal');
      return { job: { ...jobFor(execution, effective, stage, staged), keepIn } };
    },
    plan({ job }, observed) {
      const going: ExecutionPlan = {
        runner: runnerOf(effective, job, { commands: commandsOf(plan.policy), writeRoots: bundle.write_roots }),
        enforcement: enforcementOf(effective, machine, job),
        limits: furtherLimits(effective),
        observed: [...observed],
      };
      return { ...plan, going };
    },
    begin({ place: { folder } }) {
      writeAtomic(path.join(folder, 'intent.json'), texts.intent);
      writeAtomic(path.join(folder, 'bundle.json'), canonicalize(texts.bundle));
      if (texts.recording) writeAtomic(path.join(folder, 'model_io.json'), texts.recording);
    },
    watch: watchStreams,
    async judge(run, { capture }) {
      const judged = await take(execution, run, capture);
      await execution.onEnded?.(run.prepared.workFolder);
      return judged;
    },
    documents: ({ plan: whole, seen: { capture, streams }, judged: { reading }, completedAtMs }) =>
      intentDocuments({ plan: whole, ran: { capture, reading }, completedAtMs }, texts, streams),
  };
}

function effectiveFor(bundle: Bundle, profile: Profile, offers: ReturnType<typeof offersOf>): Effective {
  const { timeout_ms, max_output_files, max_total_output_bytes } = bundle.limits;
  const effective = effectiveLimits(
    {
      profile,
      bindsAll: true,
      sandbox: 'process',
      timeoutMs: timeout_ms,
      outputFilesMax: max_output_files,
      outputBytesMax: max_total_output_bytes,
    },
    offers,
  );
  // The intent must request the network as well.
  return { ...effective, network: bundle.network ? effective.network : 'blocked' };
}

/** Stages the files: writable if they are below a write root, else read-only. */
function layOut({ intent, bundle }: IntentExecution, stage: string): string[] {
  const roots = bundle.write_roots.includes('.') ? [] : bundle.write_roots;
  const staged = new Set<string>();
  try {
    // Only scripts reserve these names.
    for (const name of ['input', 'output']) rmdirSync(path.join(stage, 'work', name));
    for (const { path: file, content } of intent.files ?? []) {
      const isInRoot = isBelowRoots(file, roots);
      const target = path.join(stage, isInRoot ? 'roots' : 'work', file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, content, { flag: 'wx', mode: 0o644 });
      if (!isInRoot) staged.add(file.split('/', 1)[0] as string);
    }
    for (const place of ['work', 'roots']) setModes(path.join(stage, place));
  } catch (cause) {
    throw new Fault('stage_failed', "The intent's files could not be staged.", { cause });
  }
  return [...staged].sort();
}

/** Sets modes that do not depend on the caller's umask. */
function setModes(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(path.join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

function jobFor(
  { id, bundle, plan, context, keepCredentials }: IntentExecution,
  effective: Effective,
  stage: string,
  staged: string[],
): Job {
  const [argv = [], ...then] = bundle.commands.map(command => command.argv);
  const { allowed_commands: allowed } = plan.policy;
  return {
    id,
    backend: 'process',
    argv,
    ...(then.length > 0 && { then }),
    env: { PATH: PATH_FOLDERS.join(':'), HOME: '/tmp', LANG: LOCALE, TZ: 'UTC' },
    stage,
    staged,
    writeRoots: bundle.write_roots,
    ...(allowed.length > 0 && { programs: allowed }),
    network: effective.network,
    limits: limitsOf(effective, capsFrom({})),
    secrets: [],
    ...(keepCredentials && { keepCredentials: true as const }),
    live: context.onOutput !== undefined,
  };
}

/** A shell exists only if the allowlist is empty or names it. */
function commandsOf({ allowed_commands: allowed }: Profile): ExecutionPlan['runner']['commands'] {
  const hasShell = (allowed.length === 0 || allowed.includes('sh')) && existsSync('/bin/sh');
  return { allowlist: [...new Set(allowed)].sort(), blocklist: [], shell: hasShell ? '/bin/sh' : 'none' };
}

/** Stores the declared outputs, and judges them. */
async function take(
  { bundle, judgeAccept, keepCredentials }: IntentExecution,
  run: StartedRun<IntentTypes>,
  capture: CaptureNote,
): Promise<JudgedStep<IntentReading>> {
  const { folder } = run.place;
  const output = await outputOf(run, bundle, path.join(folder, 'output'), capture);
  const stored = output.ok ? output.files : [];
  const files = new Map(stored.map(({ path: file, ...rest }) => [file.slice('output/'.length), rest]));
  const checks = await judgeAccept(bundle.accept, path.join(folder, 'output'), files);
  const flagged = flaggedFiles(folder, stored, []);
  const reading: IntentReading = {
    ...intentReading({ bundle, capture, output, files, checks }),
    masking: { credentials: keepCredentials ? 'kept' : 'masked', kinds: {}, flagged },
  };
  return { reading, stored };
}

async function outputOf(
  run: StartedRun<IntentTypes>,
  bundle: Bundle,
  target: string,
  capture: CaptureNote,
): Promise<OutputReading> {
  const { workFolder } = run.prepared;
  const { max_output_files: filesMax, max_total_output_bytes: bytesMax } = bundle.limits;
  const limits = { filesMax, bytesMax, fileBytesMax: bytesMax };
  const output = await ingestOutput(workFolder, target, limits, bundle.outputs).catch((error: unknown) => {
    if (existsSync(workFolder)) throw error;
    return NOTHING;
  });
  refuseLostSandbox(run, capture);
  return output;
}

const NOTHING: OutputReading = { ok: true, files: [], bytesTotal: 0, notes: { hidden: [], emptyFoldersDropped: 0 } };

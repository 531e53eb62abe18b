import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Capture } from '../../contracts/capture.ts';
import {
  type AcceptCheck,
  type Bundle,
  type Intent,
  type IntentOutcome,
  isWithin,
} from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import { finish, sealingOf } from '../../evidence/finish.ts';
import { flaggedFiles } from '../../evidence/ingest/flags.ts';
import { ingestOutput, type OutputReading } from '../../evidence/ingest/output.ts';
import { intentDocuments } from '../../evidence/intent-documents.ts';
import type { GoingPlan, IntentLine, IntentPlan, IntentReading, IntentTexts } from '../../evidence/intent-run.ts';
import type { Journal } from '../../evidence/journal.ts';
import { PASSING } from '../../evidence/left.ts';
import type { RunPlace } from '../../evidence/runs.ts';
import { storedFiles } from '../../evidence/sealed-files.ts';
import { storedStream } from '../../evidence/stored-stream.ts';
import { observe } from '../../execute/canary.ts';
import type { Job } from '../../execute/job.ts';
import type { Prepared } from '../../execute/launch.ts';
import { PATH_FOLDERS } from '../../execute/programs.ts';
import { takeSlot } from '../../execute/slots.ts';
import { sweep } from '../../execute/sweep.ts';
import { makeStage, removeStage } from '../../execute/workspace.ts';
import { type Effective, effectiveBounds } from '../../policy/bounds.ts';
import { capsFrom } from '../../policy/caps.ts';
import { enforcementOf } from '../enforcement.ts';
import { furtherLimits, limitsOf, LOCALE, offersOf, runnerOf } from '../plan.ts';
import { type Around, Onlooker, recordRun, watched } from '../recorded.ts';
import { readingOf } from './reading.ts';

/** Judges the checks of an intent on the files that were taken. */
export type JudgeAccept = (
  checks: readonly AcceptCheck[],
  folder: string,
  files: ReadonlyMap<string, { readonly sha256: string; readonly bytes: number }>,
) => Promise<IntentOutcome['checks']>;

export interface Going {
  readonly id: string;
  readonly intent: Intent;
  readonly bundle: Bundle;
  readonly texts: IntentTexts;
  /** The plan, but for how it will be run. */
  readonly plan: Omit<IntentPlan, 'going'>;
  readonly judgeAccept: JudgeAccept;
  /** Well-known credentials are stored as the commands say them. */
  readonly keepCredentials?: boolean;
  /** Called while the sandbox is still there. */
  readonly onEnded?: (workFolder: string) => Promise<void>;
  readonly around: Around;
}

/** Does what a bundle says, in a sandbox under its policy, and writes the evidence. */
export async function executeBundle(going: Going): Promise<{ place: RunPlace; documents: Documents }> {
  const { id, bundle, plan, around } = going;
  const machine = await around.launcher.machine();
  const effective = effectiveFor(bundle, plan.policy, offersOf(machine));
  const free = await takeSlot(around);
  let stage: string | undefined;
  try {
    stage = makeStage(id);
    const staged = layOut(going, stage);
    const keepIn = path.join(around.home, 'runs', 'intent', id, 'evidence', 'internal');
    const job = { ...jobFor(going, effective, stage, staged), keepIn };
    const observed = [...(await observe(around.launcher, job, path.join(around.home, 'cache')))];
    const prepared = await around.launcher.open(job);
    const runs: GoingPlan = {
      runner: runnerOf(effective, job, { commands: commandsOf(plan.policy), writeRoots: bundle.write_roots }),
      enforcement: enforcementOf(effective, machine, job),
      limits: furtherLimits(effective),
      observed,
    };
    const whole = { ...plan, going: runs };
    const onlooker = new Onlooker(around.onOutput);
    const answer = await recordRun<IntentLine, { place: RunPlace; documents: Documents }>(
      { prepared, id, lane: 'intent', planned: { is: 'planned', plan: whole }, around },
      (place, journal) => carryOut({ ...going, plan: whole, job, prepared, onlooker }, place, journal),
    );
    if (onlooker.failure) throw onlooker.failure.error;
    return answer;
  } finally {
    free();
    if (stage !== undefined) removeStage(stage);
  }
}

type Documents = ReturnType<typeof intentDocuments>;

function effectiveFor(bundle: Bundle, profile: Profile, offers: ReturnType<typeof offersOf>): Effective {
  const { timeout_ms, max_output_files, max_total_output_bytes } = bundle.limits;
  const effective = effectiveBounds(
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
  // A profile that allows the network does not open it for those who do not ask.
  return { ...effective, network: bundle.network ? effective.network : 'blocked' };
}

/** Puts the files in place: those below a root where a command may change them, all others where none can. */
function layOut({ intent, bundle }: Going, stage: string): string[] {
  const roots = bundle.write_roots.includes('.') ? [] : bundle.write_roots;
  const staged = new Set<string>();
  try {
    // Names of scripts; for an intent they are like any other.
    for (const name of ['input', 'output']) rmdirSync(path.join(stage, 'work', name));
    for (const { path: file, content } of intent.files ?? []) {
      const isInRoot = isWithin(file, roots);
      const target = path.join(stage, isInRoot ? 'roots' : 'work', file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, content, { flag: 'wx', mode: 0o644 });
      if (!isInRoot) staged.add(file.split('/', 1)[0] as string);
    }
    for (const place of ['work', 'roots']) setModes(path.join(stage, place));
  } catch (cause) {
    throw new Fault('stage_failed', 'The files of the intent could not be put in place.', { cause });
  }
  return [...staged].sort();
}

/** The same for everybody, whatever mask the caller has. */
function setModes(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(path.join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

function jobFor(
  { id, bundle, plan, around, keepCredentials }: Going,
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
    live: around.onOutput !== undefined,
  };
}

/** A shell exists inside only where it is allowed by name, or everything is. */
function commandsOf({ allowed_commands: allowed }: Profile): GoingPlan['runner']['commands'] {
  const hasShell = (allowed.length === 0 || allowed.includes('sh')) && existsSync('/bin/sh');
  return { allowlist: [...new Set(allowed)].sort(), blocklist: [], shell: hasShell ? '/bin/sh' : 'none' };
}

interface Carried extends Going {
  readonly plan: IntentPlan;
  readonly job: Job;
  readonly prepared: Prepared;
  readonly onlooker: Onlooker;
}

async function carryOut(carried: Carried, place: RunPlace, journal: Journal<IntentLine>) {
  const { prepared, job, plan, texts, around } = carried;
  const { folder } = place;
  // A recovery makes its documents of these.
  writeAtomic(path.join(folder, 'intent.json'), texts.intent);
  writeAtomic(path.join(folder, 'bundle.json'), canonicalize(texts.bundle));
  if (texts.recording) writeAtomic(path.join(folder, 'model_io.json'), texts.recording);
  journal.append({ is: 'started', atMs: systemClock.now() });
  const capture = await watched(prepared, around, carried.onlooker.show);
  const { stdout, stderr, ...rest } = capture;
  const streams = { stdout: storedStream(stdout), stderr: storedStream(stderr) };
  const noted = { ...rest, stdout: streams.stdout.note, stderr: streams.stderr.note };
  journal.append({ is: 'captured', atMs: systemClock.now(), capture: noted });
  const { reading, stored } = await take(carried, folder, capture);
  await carried.onEnded?.(prepared.workFolder);
  // Who cannot close it any more is dead; what is left of it goes all the same.
  const closed = prepared.close().catch(() => sweep(prepared.leftovers));
  const completedAtMs = Math.max(systemClock.now(), plan.startedAtMs);
  journal.append({ is: 'read', atMs: completedAtMs, reading });
  const documents = intentDocuments({ plan, ran: { capture: noted, reading }, completedAtMs }, texts, {
    stdout: streams.stdout.bytes,
    stderr: streams.stderr.bytes,
  });
  await finish(folder, {
    runId: job.id,
    kind: 'intent',
    documents,
    stored: storedFiles(stored),
    passing: PASSING,
    sealedAtMs: completedAtMs,
    ...sealingOf(around),
  });
  await closed;
  return { place, documents };
}

/** Takes the outputs that were announced, while the sandbox is still there, and judges them. */
async function take(carried: Carried, folder: string, capture: Capture) {
  const { bundle, judgeAccept } = carried;
  const output = await outputOf(carried, path.join(folder, 'output'), capture);
  const stored = output.ok ? output.files : [];
  const files = new Map(stored.map(({ path: file, ...rest }) => [file.slice('output/'.length), rest]));
  const checks = await judgeAccept(bundle.accept, path.join(folder, 'output'), files);
  const flagged = flaggedFiles(folder, stored, []);
  const reading: IntentReading = {
    ...readingOf({ bundle, capture, output, files, checks }),
    masking: { credentials: carried.keepCredentials ? 'kept' : 'masked', kinds: {}, flagged },
  };
  return { reading, stored };
}

/**
 * A sandbox that died took its files along: that they are missing says nothing of the commands. Where memory ran out, the
 * kernel may have ended the sandbox with them, and the verdict is clear without files.
 */
async function outputOf({ prepared, bundle }: Carried, target: string, capture: Capture): Promise<OutputReading> {
  const { max_output_files: filesMax, max_total_output_bytes: bytesMax } = bundle.limits;
  const limits = { filesMax, bytesMax, fileBytesMax: bytesMax };
  const isThere = (): boolean => existsSync(prepared.workFolder);
  const output = await ingestOutput(prepared.workFolder, target, limits, bundle.outputs).catch((error: unknown) => {
    if (isThere()) throw error;
    return NOTHING;
  });
  if (isThere() || capture.ending.how === 'out_of_memory') return output;
  throw new Fault('sandbox_lost', 'The sandbox died before its files could be taken.');
}

const NOTHING: OutputReading = { ok: true, files: [], bytesTotal: 0, notes: { hidden: [], emptyFoldersDropped: 0 } };

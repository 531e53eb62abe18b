import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import type { Ending } from '../contracts/ending.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import { homeFrom } from '../evidence/runs.ts';
import type { Requested } from '../policy/bounds.ts';
import type { Caps } from '../policy/caps.ts';
import type { Around } from '../run/recorded.ts';
import { runScript as run, type ScriptAnswer } from '../run/script.ts';
import { checkTarget, copyOutput } from './copy-output.ts';
import { signerAt } from './keys.ts';
import { sharedLauncher } from './launcher.ts';
import { ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';
import { profileOf } from './profile.ts';
import { settingsIn } from './settings.ts';

/** What to run, and within which bounds. What is not said takes its default. */
export interface RunScriptOptions extends Omit<Requested, 'profile' | 'bindsAll'> {
  /** The file of the script: with a first line such as `#!/usr/bin/env python3`, or the ending .py, .mjs, .js or .sh. */
  readonly script: string;
  /** Files that the script finds in `input/`. */
  readonly inputs?: readonly string[];
  readonly args?: readonly string[];
  /** Variables that the script sees, and nothing else of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables that the script sees, and whose values are masked wherever they would be stored or shown. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Stores well-known credentials as the script says them. Declared secrets are masked all the same. */
  readonly keepCredentials?: boolean;
  /** The name of a built-in profile, the file of another, or one itself. */
  readonly profile?: string | Profile;
  /** Copies what the script left in `output/` to this folder, which must be empty or not exist. */
  readonly copyOutputTo?: string;
  /** Where the run is kept: in the nearest `.proctor` from here upwards. The working folder, if not said. */
  readonly cwd?: string;
  /** How much is kept of what the script says; else what settings.json in `.proctor` says, else the defaults. */
  readonly caps?: Partial<Caps>;
  /** The file of the key that the seal is signed with; else that of `.proctor`, if it has one. */
  readonly signingKey?: string;
  readonly signal?: AbortSignal;
  readonly onOutput?: Around['onOutput'];
  readonly onWait?: Around['onWait'];
  readonly onFolder?: Around['onFolder'];
  /** Something went wrong that does not touch the run. */
  readonly onWarning?: (sentence: string) => void;
}

/** How the run of a script ended, and where its evidence is. */
export interface ScriptRunResult {
  readonly kind: 'script';
  readonly runId: string;
  /** The run folder. */
  readonly folder: string;
  readonly status: 'succeeded' | 'failed' | 'timed_out';
  readonly ending: Ending;
  /** A word for why it did not succeed, or null. */
  readonly reason: string | null;
  /** A sentence for people, or null. */
  readonly message: string | null;
  /** What joins the sentence to the internal log. */
  readonly correlationId: string;
  readonly html: string;
  /** What the script left in `output/`. */
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  /** How it was bounded, as written in runner.json. */
  readonly runner: ScriptAnswer['plan']['runner'];
  readonly observed: ScriptAnswer['plan']['observed'];
  /** What held each limit, and the limits that runner.json has no place for. */
  readonly enforcement: ScriptAnswer['plan']['enforcement'];
  readonly limits: ScriptAnswer['plan']['limits'];
  readonly warnings: readonly string[];
  /** How often it was refused another process, where that is counted. */
  readonly forksDenied: number;
  /** The program that ran it. */
  readonly interpreter: string;
  readonly durationMs: number;
  /** The key that the seal was signed with, or null. */
  readonly keyId: string | null;
}

/** Runs a script inside bounds that are enforced, and leaves evidence of it that anyone can verify. */
export async function runScript(options: RunScriptOptions): Promise<ScriptRunResult> {
  checkOptions(options);
  const { script, inputs, args, env, secrets, profile, copyOutputTo, cwd = process.cwd(), ...rest } = options;
  const { signal, onOutput, onWait, onFolder, onWarning, caps, signingKey, keepCredentials, ...bounds } = rest;
  if (copyOutputTo !== undefined) checkTarget(copyOutputTo);
  const loaded = profile === undefined ? undefined : profileOf(profile);
  const home = homeFrom(cwd);
  const signer = signerAt(cwd, signingKey);
  const order = defined({
    script,
    inputs,
    args,
    env,
    secrets,
    keepCredentials,
    bounds: defined({ ...bounds, profile: loaded }),
    caps: { ...settingsIn(home), ...caps },
  });
  const watched = defined({ signal, onOutput, onWait, onFolder });
  const ledger = ledgerOf(home, onWarning);
  const answer = await run(order, { launcher: await sharedLauncher(), home, signer, ledger, ...watched });
  if (copyOutputTo !== undefined) copyOutput(answer.place.folder, copyOutputTo);
  return { ...resultOf(answer), keyId: signer?.keyId ?? null };
}

/** A bound that is misspelt would silently not bound. */
function checkOptions(options: RunScriptOptions): void {
  if (typeof options?.script !== 'string') throw new Fault('usage', 'runScript needs script: the path of a file.');
  refuseUnknown('runScript', options, OPTIONS);
}

const OPTIONS: Record<keyof RunScriptOptions, true> = {
  script: true,
  inputs: true,
  args: true,
  env: true,
  secrets: true,
  keepCredentials: true,
  profile: true,
  sandbox: true,
  isolation: true,
  timeoutMs: true,
  idleMs: true,
  memoryBytes: true,
  cpuSeconds: true,
  cpus: true,
  pids: true,
  outputFilesMax: true,
  outputBytesMax: true,
  copyOutputTo: true,
  cwd: true,
  caps: true,
  signingKey: true,
  signal: true,
  onOutput: true,
  onWait: true,
  onFolder: true,
  onWarning: true,
};

function resultOf({ place, plan, ending, reading, forksDenied, completedAtMs }: ScriptAnswer) {
  return {
    kind: 'script' as const,
    runId: place.id,
    folder: place.folder,
    status: reading.status,
    ending,
    reason: reading.reason,
    message: reading.errorSummary,
    correlationId: plan.correlationId,
    html: reading.htmlOutput,
    files: reading.files,
    runner: plan.runner,
    observed: plan.observed,
    enforcement: plan.enforcement,
    limits: plan.limits,
    warnings: [...(plan.runner.warnings ?? []), ...reading.warnings],
    forksDenied,
    interpreter: plan.request.interpreter.name,
    durationMs: completedAtMs - plan.startedAtMs,
  };
}

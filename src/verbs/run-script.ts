import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import type { Ending } from '../contracts/ending.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { PublishedVersion } from '../contracts/published-script/index.ts';
import { SCRIPT_LIMITS } from '../contracts/script-limits.ts';
import { homeFrom } from '../evidence/run-folder/runs.ts';
import type { Requested } from '../policy/effective-limits.ts';
import type { Caps } from '../policy/caps.ts';
import type { RunContext } from '../run/pipeline/journaled-run.ts';
import { executeScript as run, type ScriptAnswer } from '../run/script/script.ts';
import { checkTarget, copyOutput } from './copy-output.ts';
import { signerAt } from './keys.ts';
import { sharedLauncher } from './launcher.ts';
import { ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';
import { profileOf } from './profile.ts';
import { settingsIn } from './settings.ts';

/** A script to run, and its limits. */
export interface RunScriptOptions extends Omit<Requested, 'profile' | 'bindsAll'> {
  /** A script with a first line such as `#!/usr/bin/env python3`, or named .py, .mjs, .js or .sh. */
  readonly script: string;
  /** Files to copy to `input/`. */
  readonly inputs?: readonly string[];
  readonly args?: readonly string[];
  /** Environment variables to pass. The script inherits none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Environment variables to pass and to mask in everything stored or shown. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Stores well-known credentials unmasked. Declared secrets stay masked. */
  readonly keepCredentials?: boolean;
  /** The name of a built-in profile, a profile file, or a profile object. */
  readonly profile?: string | Profile;
  /** Copies the output files to this folder, which must be empty or new. */
  readonly copyOutputTo?: string;
  /** Proctor stores the run in the nearest `.proctor` from here upwards; the working folder by default. */
  readonly cwd?: string;
  /** How much output to keep; from `.proctor/settings.json` by default. */
  readonly caps?: Partial<Caps>;
  /** Key that signs the seal; the key in `.proctor` by default. */
  readonly signingKey?: string;
  /** The id of the run, `script_`, a time and 12 hexadecimal digits. It must not be in use. A new one by default. */
  readonly runId?: string;
  /** The version of a published script that the run belongs to. The request records it. */
  readonly published?: PublishedVersion;
  readonly signal?: AbortSignal;
  readonly onOutput?: RunContext['onOutput'];
  readonly onWait?: RunContext['onWait'];
  readonly onFolder?: RunContext['onFolder'];
  /** Called with warnings that do not affect the run. */
  readonly onWarning?: (sentence: string) => void;
}

export interface ScriptRunResult {
  readonly kind: 'script';
  readonly runId: string;
  /** The run folder. */
  readonly folder: string;
  readonly status: 'succeeded' | 'failed' | 'timed_out';
  readonly ending: Ending;
  /** The code of the failure, or null. */
  readonly reason: string | null;
  readonly message: string | null;
  /** Links the message to the internal log. */
  readonly correlationId: string;
  readonly html: string;
  /** The files in `output/`. */
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  /** The runner record, as in runner.json. */
  readonly runner: ScriptAnswer['plan']['runner'];
  readonly observed: ScriptAnswer['plan']['observed'];
  /** What enforced each limit. */
  readonly enforcement: ScriptAnswer['plan']['enforcement'];
  readonly limits: ScriptAnswer['plan']['limits'];
  readonly warnings: readonly string[];
  /** How often the process limit refused a process, if counted. */
  readonly forksDenied: number;
  readonly interpreter: string;
  readonly durationMs: number;
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
}

/** Runs a script inside limits that Proctor enforces, and seals the evidence. */
export async function runScript(options: RunScriptOptions): Promise<ScriptRunResult> {
  checkOptions(options);
  const { script, inputs, args, env, secrets, profile, copyOutputTo, cwd = process.cwd(), ...rest } = options;
  const {
    signal,
    onOutput,
    onWait,
    onFolder,
    onWarning,
    caps,
    signingKey,
    keepCredentials,
    runId,
    published,
    ...bounds
  } = rest;
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
    runId,
    published,
    bounds: defined({ ...bounds, profile: loaded }),
    caps: { ...settingsIn(home), ...caps },
  });
  const watched = defined({ signal, onOutput, onWait, onFolder });
  const ledger = ledgerOf(home, onWarning);
  const answer = await run(order, { launcher: await sharedLauncher(), home, signer, ledger, ...watched });
  if (copyOutputTo !== undefined) copyOutput(answer.place.folder, copyOutputTo);
  return { ...resultOf(answer), keyId: signer?.keyId ?? null };
}

function checkOptions(options: RunScriptOptions): void {
  if (typeof options?.script !== 'string') throw new Fault('usage', 'runScript requires script: the path of a file.');
  refuseUnknown('runScript', options, OPTIONS);
}

const OPTIONS: Record<keyof RunScriptOptions, unknown> = {
  script: true,
  inputs: true,
  args: true,
  env: true,
  secrets: true,
  keepCredentials: true,
  profile: true,
  sandbox: true,
  isolation: true,
  ...SCRIPT_LIMITS,
  copyOutputTo: true,
  cwd: true,
  caps: true,
  signingKey: true,
  runId: true,
  published: true,
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

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { newRunnerId } from '../../base/ids.ts';
import { VERSION } from '../../base/version.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { SEMVER } from '../../contracts/shape.ts';
import { stateWarning } from '../../evidence/run-folder/chain.ts';
import type { ScriptPlan } from '../../evidence/script/script-run.ts';
import type { Job, JobLimits } from '../../execute/job/job.ts';
import { bootId, type Machine } from '../../execute/host/machine.ts';
import { startTicksOf } from '../../execute/host/processes.ts';
import type { Effective, Offer } from '../../policy/effective-limits.ts';
import { type Caps, ends } from '../../policy/caps.ts';
import { statedLimits } from './enforcement.ts';

/** The guarantees that each sandbox can give on this machine. */
export function offersOf(machine: Machine): Offer[] {
  const { cgroups, seccomp, missing, dividesCpus, countsSockets } = machine;
  const can = { dividesCpus, countsSockets };
  const lacks = [
    ...(cgroups === 'none' ? ['memory limits for a whole run, which require control groups'] : []),
    ...(seccomp ? [] : ['system call filters for this processor']),
  ];
  const parts = missing.map(part => path.basename(part)).join(', ');
  return [
    { sandbox: 'none', isolation: 'none', lacks: [], machine: { ...can, kind: 'no_sandbox' } },
    {
      sandbox: 'process',
      isolation: lacks.length === 0 ? 'strict' : 'standard',
      lacks,
      machine: { ...can, kind: cgroups === 'none' ? 'no_groups' : `cgroup_${cgroups}` },
      ...(missing.length > 0 && { unusable: `The sandbox needs programs that are not installed: ${parts}.` }),
    },
  ];
}

export const LOCALE = 'C.UTF-8';

export function limitsOf(effective: Effective, caps: Caps): JobLimits {
  const { timeoutMs, idleMs, memoryBytes, cpuSeconds, cpus, pids, outputFilesMax, outputBytesMax } = effective;
  return {
    timeoutMs,
    ...(idleMs !== undefined && { idleMs }),
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(cpuSeconds !== undefined && { cpuSeconds }),
    ...(cpus !== undefined && { cpus }),
    ...(pids !== undefined && { pids }),
    openFiles: OPEN_FILES,
    // These limit everything that is written. The exact limits of output/ are checked when it is stored.
    workBytes: outputBytesMax + SCRATCH_BYTES,
    workEntries: 2 * outputFilesMax + SCRATCH_ENTRIES,
    keep: { stdout: ends(caps.stdoutBytes), stderr: ends(caps.stderrBytes) },
    graceMs: 2_000,
  };
}

const OPEN_FILES = 1_024;
const SCRATCH_BYTES = 16 * 1024 * 1024;
const SCRATCH_ENTRIES = 256;

/** Limits that runner.json cannot state. */
export function furtherLimits(effective: Effective): ScriptPlan['limits'] {
  return {
    pids: effective.pids ?? null,
    idle_timeout_ms: effective.idleMs ?? null,
    open_files: effective.sandbox === 'none' ? null : OPEN_FILES,
  };
}

/** Identifies this process. Its runs are dead once it has exited. */
export function ownerHere(): ScriptPlan['owner'] {
  return { pid: process.pid, startTicks: startTicksOf(process.pid) ?? 0, bootId: bootId() };
}

/** The programs that may run, and where they may write. */
export interface BoundBy {
  readonly commands: Runner['commands'];
  readonly writeRoots: readonly string[];
}

/** The runner record, as far as it is known before the program starts. */
export function runnerOf(effective: Effective, job: Pick<Job, 'env'>, boundBy: BoundBy): ScriptPlan['runner'] {
  const isBare = effective.sandbox === 'none';
  const { identity, warnings } = runnerHere(effective.warnings);
  return {
    ...identity,
    sandbox: {
      backend: effective.sandbox,
      isolation_level: effective.isolation,
      network_blocked: effective.network === 'blocked',
      filesystem_readonly: !isBare,
    },
    limits: statedLimits(effective),
    commands: boundBy.commands,
    write_roots: [...boundBy.writeRoots],
    context: {
      working_dir: '.',
      // The sandbox sets PWD when it enters the work folder.
      env_allowlist: [...new Set([...Object.keys(job.env), isBare ? 'PROCTOR_RUN' : 'PWD'])].sort(),
      locale: LOCALE,
      timezone: 'UTC',
    },
    ...(warnings.length > 0 && { warnings }),
  };
}

/** The part of a runner record that depends only on this machine. */
export function runnerHere(warnings: readonly string[]) {
  const npm = npmVersion();
  const unproven = stateWarning();
  return {
    identity: {
      runner_schema_version: '1.0.0',
      runner_id: newRunnerId(systemClock),
      runner_version: VERSION,
      platform: {
        os: process.platform as Runner['platform']['os'],
        arch: process.arch as Runner['platform']['arch'],
        node_version: process.version,
        npm_version: npm ?? '0.0.0',
      },
    } satisfies Partial<Runner>,
    warnings: [
      ...warnings,
      ...(npm === undefined ? ['npm: not found next to node'] : []),
      ...(unproven === undefined ? [] : [unproven]),
    ].sort(),
  };
}

/** Read from npm's package.json: starting npm would take longer than most scripts run. */
function npmVersion(): string | undefined {
  const beside = path.join(path.dirname(process.execPath), '..');
  for (const folder of [`${beside}/lib/node_modules/npm`, `${beside}/node_modules/npm`, '/usr/share/nodejs/npm']) {
    try {
      const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version?: unknown };
      if (typeof version === 'string' && SEMVER.test(version)) return version;
    } catch {
      // Try the next folder.
    }
  }
  return undefined;
}

import { statSync } from 'node:fs';
import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { didYouMean } from '../base/nearest.ts';
import { printable } from '../base/printable.ts';
import { durationMs } from '../base/units.ts';
import { builtInPolicy } from '../contracts/agent-policy/index.ts';
import { isDeclaration, type ProjectTarget } from '../contracts/project/index.ts';
import { mountIn } from '../contracts/suite/index.ts';
import { mountBelow } from '../run/agent/mounts.ts';
import { checkOrderOf } from '../run/checks/read-checks.ts';
import { findProjectFile, readProjectFile } from '../run/project/project-file.ts';
import { type DeclaredTarget, readTargetFile } from '../run/suite/target-file.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';
import type { RunSuiteOptions } from './run-suite.ts';

/** What a target's name or file refers to. */
export type NamedTarget =
  | { readonly declared: DeclaredTarget }
  /** A script or an agent, as options of `runSuite`. */
  | { readonly ran: Partial<RunSuiteOptions>; readonly settings: Partial<SuiteSettings> };

/** Finds a target: a file, else a name in the project file. If you specify a project file, the target must be a name in it. */
export function namedTarget(word: string, cwd: string, project: string | undefined): NamedTarget {
  const file = path.resolve(cwd, word);
  // A folder often has the name of the agent in it.
  if (project === undefined && isFile(file)) return { declared: readTargetFile(file, word) };
  const projectFile = project === undefined ? findProjectFile(cwd) : path.resolve(cwd, project);
  if (projectFile === undefined) return { declared: readTargetFile(file, word) };
  const { project: document, dir, name } = readProjectFile(projectFile);
  const target = Object.hasOwn(document.targets, word) ? document.targets[word] : undefined;
  if (target) return targetIn(word, target, dir);
  const names = Object.keys(document.targets);
  throw new Fault(
    'no_target',
    `There is no target file and no target in ${printable(name)} with the name "${printable(word)}".${didYouMean(word, names)} Targets: ${names.join(', ')}.`,
  );
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === false;
}

function targetIn(name: string, target: ProjectTarget, dir: string): NamedTarget {
  if (isDeclaration(target)) return { declared: { name, dir, declaration: target } };
  const settings = settingsOf(target);
  const { provenance, cpus } = target;
  const common = defined({ provenance, bounds: defined({ cpus }) });
  if (target.kind === 'script') {
    const { file, profile, sandbox, isolation } = target;
    const bounds = defined({ profile, sandbox, isolation, cpus });
    return { ran: { ...common, script: path.resolve(dir, file), bounds }, settings };
  }
  const { agent, policy, model, prices, recordings } = target;
  const inDir = (file: string | undefined) => file && path.resolve(dir, file);
  const asked = {
    model,
    maxTurns: target.max_turns,
    maxRequests: target.max_requests,
    maxTokens: target.max_tokens,
    maxCostUsd: target.max_cost_usd,
    modelMode: target.model_mode,
    allowUntestedVersion: target.allow_untested_version,
    prices: inDir(prices),
    recordings: inDir(recordings),
    base: target.base,
    mounts: target.mounts?.map(mount => mountBelow(mountIn(mount), dir)),
    checks: target.checks?.map(check => checkOrderOf(check, dir)),
    policy: policy !== undefined && builtInPolicy(policy) ? policy : inDir(policy),
  };
  return { ran: { ...common, ...defined(asked), agent, dir: path.resolve(dir, target.dir ?? '.') }, settings };
}

/** The settings of a suite that a target declares. A flag overrides each. */
export function settingsOf(target: Pick<ProjectTarget, 'timeout' | 'idle_timeout' | 'retries' | 'concurrency'>) {
  const { timeout, idle_timeout, retries, concurrency } = target;
  return {
    ...(timeout !== undefined && { timeoutMs: durationMs(timeout) }),
    ...(idle_timeout !== undefined && { idleMs: durationMs(idle_timeout) }),
    ...(retries !== undefined && { retries }),
    ...(concurrency !== undefined && { concurrency }),
  };
}

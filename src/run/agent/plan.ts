import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Invocation } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { warningOf } from '../../contracts/runner/warnings.ts';
import type { AgentPlan } from '../../evidence/agent/agent-run.ts';
import { KEPT_BYTES_MAX } from '../../evidence/agent/kept-tree.ts';
import { PARTS } from '../../evidence/recovery/recovery-parts.ts';
import { policySummaryOf } from '../../evidence/agent/policy-summary.ts';
import { AGENT_PATH } from '../../execute/agents/agent-program.ts';
import type { Observation } from '../../execute/launcher/canary.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { forwarded, forwarderMounts } from '../../execute/model/forwarder.ts';
import type { Job } from '../../execute/job/job.ts';
import type { KeepTree } from '../../execute/worktree/keep-tree.ts';
import { reachable } from '../../execute/sandboxes/mounts.ts';
import { startTicksOf } from '../../execute/host/processes.ts';
import { HOME } from '../../execute/sandboxes/root.ts';
import { plannedCheck } from '../checks/run-checks.ts';
import { enforcementOf } from '../pipeline/enforcement.ts';
import { furtherLimits, limitsOf, LOCALE, ownerHere, runnerOf } from '../pipeline/runner-plan.ts';
import type { AgentTypes, AgentWorkspace, CheckedAgentRun } from './agent.ts';
import { clocksOf, turnLimitOf } from './bound.ts';
import { type Mask, maskedContext, maskOf } from './masked.ts';
import { budgetOf, secretsOf } from './model.ts';

/** The port of the model proxy inside the sandbox. */
const DOOR_PORT = 8417;

/** Without these, npm and pip look for their own updates, so a plain `npm test` counts as a network violation. */
const NO_UPDATE_CHECKS = { npm_config_update_notifier: 'false', PIP_DISABLE_PIP_VERSION_CHECK: '1' };

/** Translates the order into a command line, and stages its files. */
export function layOut(
  ready: CheckedAgentRun,
  { stage, clone, door, context }: Omit<AgentWorkspace, 'guarded' | 'invocation' | 'mounted' | 'base'>,
): Invocation {
  const { adapter, order, bound, program, model, sessionId } = ready;
  const invocation = adapter.invoke({
    version: program.version,
    task: order.task,
    policy: bound.effective,
    model: order.model,
    maxTurns: bound.limits.maxTurns,
    maxCostUsd: bound.limits.maxCostUsd,
    sessionId,
    workFolder: path.posix.join('/work', clone.startIn),
    home: HOME,
    toolFolder: '/opt/proctor',
    door:
      door && model.kind !== 'none'
        ? { url: `http://127.0.0.1:${door.port ?? DOOR_PORT}`, token: door.token, as: model.as }
        : undefined,
    nestedSandbox: program.nestedSandbox,
    context: context.given,
  });
  try {
    writeFileSync(path.join(stage, STDIN), invocation.stdin, { mode: 0o600, flag: 'wx' });
    for (const [name, { text, mode }] of Object.entries(invocation.files)) {
      const file = path.join(stage, 'opt', name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text, { mode, flag: 'wx' });
    }
  } catch (cause) {
    throw new Fault('stage_failed', "The agent's files could not be staged.", { cause });
  }
  return invocation;
}

const STDIN = 'stdin';

export async function agentJob(
  ready: CheckedAgentRun,
  { stage, clone, guarded, door, invocation, mounted }: AgentWorkspace,
  folder: string,
): Promise<Job> {
  const { id, order, bound, program } = ready;
  const isBehindDoor = door?.socket !== undefined;
  const argv = [program.argv0, ...invocation.args];
  const mounts = [...program.mounts, ...clone.mounts, ...(isBehindDoor ? forwarderMounts() : []), ...mounted.mounts];
  return {
    id,
    backend: 'process',
    argv: isBehindDoor ? forwarded(argv, DOOR_PORT) : argv,
    env: { ...NO_UPDATE_CHECKS, ...order.secrets, ...invocation.env, PATH: AGENT_PATH, HOME, LANG: LOCALE, TZ: 'UTC' },
    stage,
    staged: [],
    writeRoots: bound.effective.execution_posture === 'read_only' ? [] : ['.'],
    readOnly: guarded.readOnly,
    startIn: clone.startIn,
    stdin: STDIN,
    home: true,
    guarded: true,
    mounts: await reachable(mounts, stage),
    ...(program.runtimes && { runtimes: program.runtimes }),
    ...(isBehindDoor && { door: true as const }),
    network: bound.bounds.network,
    limits: {
      ...limitsOf(bound.bounds, CAPS),
      timeoutMs: bound.limits.timeoutMs,
      workBytes: WORK_BYTES,
      workEntries: WORK_ENTRIES,
    },
    secrets: [...secretsOf(ready), ...(door ? [door.token] : [])],
    ...(order.keepCredentials && { keepCredentials: true as const }),
    live: true,
    keepTree: keepTreeOf(ready, clone, folder),
  };
}

/** Where the launcher saves the agent's changes if Proctor dies. Recovery reads them there. */
function keepTreeOf({ bound }: CheckedAgentRun, whole: Clone, folder: string): KeepTree {
  const { baseFiles: _, prepared: __, ...clone } = whole;
  return {
    clone,
    isReadOnly: bound.effective.execution_posture === 'read_only',
    policy: bound.effective,
    facts: path.join(folder, PARTS.workspace),
    diff: path.join(folder, PARTS.diff),
    factsBytesMax: KEPT_BYTES_MAX,
  };
}

/** Only for messages. The agent's streams are stored in full as they arrive. */
const CAPS = { stdoutBytes: 64 * 1024, stderrBytes: 64 * 1024, htmlBytes: 0, summaryBytes: 1_000 };

/** Limits for the clone, and for everything that the agent writes to it and to its home. */
const WORK_BYTES = 2 * 1024 ** 3;
const WORK_ENTRIES = 500_000;

export function agentPlan(made: AgentTypes['made'], observed: readonly Observation[]): AgentPlan {
  const { ready, clone, invocation, job, startedAtMs } = made;
  const { id, order, adapter, bound, program, model, machine, checks, around } = ready;
  // The caller's strings are always masked. `keepCredentials` applies only to the agent's output.
  const mask = maskOf({ ...ready, order: { ...order, keepCredentials: false } });
  return {
    request: { run_id: id, kind: 'agent' },
    asked: {
      agent_family: adapter.family,
      rendered_task_text: mask(order.task),
      working_directory: path.posix.join('work', clone.startIn),
      prompt_reference: order.promptReference === undefined ? null : mask(order.promptReference),
      requested_policy: bound.requested,
      ...(checks.length > 0 && { checks: checks.map(({ name }) => name) }),
      ...(order.attempt && { attempt: order.attempt }),
    },
    agent: {
      family: adapter.family,
      version: program.version,
      sha256: program.sha256,
      untested: program.untested,
      ...(program.newestTried !== undefined && { newest_tried: program.newestTried }),
    },
    invocation: {
      mode: invocation.mode,
      command: [adapter.agent, ...invocation.args].map(mask),
      approval: bound.effective.approval_posture,
    },
    runner: runnerFor(made),
    enforcement: enforcementOf(bound.bounds, machine, job),
    limits: furtherLimits(bound.bounds),
    observed: [...observed],
    clocks: clocksOf(bound),
    ...turnLimitOf(bound, adapter),
    modelMode: model.kind,
    budget: budgetOf(bound.limits),
    projectContext: maskedContext(made.context.told, mask),
    ...(made.mounted.notes.length > 0 && {
      mounts: made.mounted.notes.map(note => ({ ...note, path: mask(note.path) })),
    }),
    ...(made.base && { base: maskedBase(made.base, mask) }),
    ...('credential' in model && { credential: model.credential }),
    ...(checks.length > 0 && { checks: checks.map(check => plannedCheck(check, mask)) }),
    policy: policySummaryOf({
      ...bound.summary,
      capabilityNotes: [...bound.summary.capabilityNotes, ...invocation.notes, ...made.guarded.notes.map(mask)],
      observed,
      violations: [],
      enforcementNotes: [],
    }),
    workspace: contextOf(clone, mask),
    correlationId: newCorrelationId(),
    startedAtMs,
    owner: ownerHere(),
    launcher: { pid: around.launcher.pid, startTicks: startTicksOf(around.launcher.pid) ?? 0 },
  };
}

function maskedBase({ name, setup, ...base }: NonNullable<AgentPlan['base']>, mask: Mask): AgentPlan['base'] & object {
  return {
    ...base,
    name: name === null ? null : mask(name),
    ...(setup && { setup: { ...setup, command: mask(setup.command) } }),
  };
}

/** Where the clone came from; undefined if the folder is not a repository. */
export function contextOf({ kind, branch, baseRef, baseSha }: Clone, mask: Mask, headSha?: string): object | undefined {
  if (kind === 'copy') return undefined;
  return {
    worktree_path: 'work',
    branch_name: branch,
    base_ref: mask(baseRef),
    base_sha: baseSha,
    ...(headSha !== undefined && { head_sha: headSha }),
  };
}

function runnerFor({ ready: { bound, model }, door, job }: AgentTypes['made']): AgentPlan['runner'] {
  if (bound.limits.timeoutMs > RECORD_MS_MAX)
    return 'The timeout of this run exceeds 10 minutes, the longest that a runner record can state.';
  // A proxy to a live model lets bytes leave the sandbox.
  const isLive = door !== undefined && model.kind !== 'replay';
  const bounds = isLive
    ? {
        ...bound.bounds,
        network: 'open' as const,
        warnings: [...bound.bounds.warnings, ...(bound.bounds.network === 'blocked' ? [ENDPOINT_ONLY] : [])].sort(),
      }
    : bound.bounds;
  const isReadOnly = bound.effective.execution_posture === 'read_only';
  return runnerOf(bounds, job, {
    commands: { allowlist: [], blocklist: [], shell: '/bin/sh' },
    writeRoots: isReadOnly ? [] : ['.'],
  });
}

const RECORD_MS_MAX = 600_000;
const ENDPOINT_ONLY = warningOf('network', 'model endpoint only');

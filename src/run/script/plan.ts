import { existsSync } from 'node:fs';
import path from 'node:path';
import { newCorrelationId } from '../../base/ids.ts';
import { Masker, maskingOf } from '../../base/masker.ts';
import { limitsRecord } from '../../contracts/script-limits.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import type { ScriptPlan } from '../../evidence/script/script-run.ts';
import type { Observation } from '../../execute/launcher/canary.ts';
import type { Job } from '../../execute/job/job.ts';
import type { Machine } from '../../execute/host/machine.ts';
import { isVisible, PATH_FOLDERS } from '../../execute/host/programs.ts';
import type { StagedFile } from '../../execute/host/workspace.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import { enforcementOf } from '../pipeline/enforcement.ts';
import type { CheckedOrder } from './order.ts';
import { type BoundBy, furtherLimits, limitsOf, LOCALE, ownerHere, runnerOf } from '../pipeline/runner-plan.ts';

export function scriptJob(id: string, order: CheckedOrder, effective: Effective, stage: string, live: boolean): Job {
  const isBare = effective.sandbox === 'none';
  const at = (inside: string, outside: string): string => (isBare ? path.join(stage, outside) : inside);
  return {
    id,
    backend: effective.sandbox,
    argv: [
      order.interpreter.path,
      ...order.interpreter.args,
      at(`/work/${order.script.name}`, `work/${order.script.name}`),
      // Otherwise proctor_tool would treat the script's first argument as a function name.
      ...(order.interpreter.args.includes('proctor_tool') ? ['run_tool'] : []),
      ...order.args,
    ],
    env: {
      ...order.env,
      ...order.secrets,
      PATH: PATH_FOLDERS.join(':'),
      HOME: at('/tmp', 'work'),
      LANG: LOCALE,
      TZ: 'UTC',
      PYTHONPATH: at('/opt/proctor', 'opt'),
      PROCTOR_TOOL: at('/opt/proctor/proctor-tool.mjs', 'opt/proctor-tool.mjs'),
    },
    stage,
    staged: [order.script.name, 'input'],
    ...(!isBare && !isVisible(order.interpreter.path) && { runtimes: [order.interpreter.path] }),
    network: effective.network,
    limits: limitsOf(effective, order.caps),
    secrets: Object.values(order.secrets),
    ...(order.keepCredentials && { keepCredentials: true as const }),
    live,
  };
}

export interface PlannedScriptRun {
  readonly id: string;
  readonly order: CheckedOrder;
  readonly effective: Effective;
  readonly machine: Machine;
  readonly job: Job;
  readonly script: StagedFile;
  readonly inputs: readonly StagedFile[];
  readonly observed: readonly Observation[];
  readonly startedAtMs: number;
}

export function scriptPlan(planned: PlannedScriptRun): ScriptPlan {
  const { machine, effective, startedAtMs } = planned;
  return {
    request: requestOf(planned),
    runner: runnerOf(planned.effective, planned.job, BOUND_BY_NOTHING),
    enforcement: enforcementOf(effective, machine, planned.job),
    limits: furtherLimits(effective),
    observed: [...planned.observed],
    correlationId: newCorrelationId(),
    startedAtMs,
    owner: ownerHere(),
  };
}

function requestOf({ id, order, script, inputs }: PlannedScriptRun): ScriptRequest {
  const { bounds } = order;
  const masker = new Masker(maskingOf(Object.values(order.secrets)));
  return {
    schema_version: 'script-request.v1',
    run_id: id,
    kind: 'script',
    script,
    interpreter: { name: order.interpreter.name },
    args: order.args.map(arg => masker.text(arg)),
    inputs: [...inputs],
    env_names: Object.keys(order.env).sort(),
    secret_names: Object.keys(order.secrets).sort(),
    requested: {
      profile: bounds.profile?.name ?? null,
      sandbox: bounds.sandbox ?? null,
      isolation: bounds.isolation ?? null,
      ...limitsRecord(bounds),
    },
    ...(order.published && { published: order.published }),
  };
}

const BOUND_BY_NOTHING: BoundBy = {
  commands: { allowlist: [], blocklist: [], shell: existsSync('/bin/sh') ? '/bin/sh' : 'none' },
  writeRoots: ['.'],
};

import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { durationMs, sizeBytes } from '../../base/units.ts';
import { builtInPolicy } from '../../contracts/agent-policy/index.ts';
import { nameOfCheck } from '../../contracts/checks/shape.ts';
import { type CodingKeys, mountIn } from '../../contracts/suite/index.ts';
import { mountBelow } from '../agent/mounts.ts';
import type { AgentOrder } from '../agent/order.ts';
import { checkOrderOf } from '../checks/read-checks.ts';

export type SuiteAgentOrder = Omit<AgentOrder, 'task' | 'recording'>;

/** The order of a suite with what one case says about the work. Its paths start at `folder`. */
export function caseOrder(suite: SuiteAgentOrder, one: CodingKeys, folder: string): SuiteAgentOrder {
  const at = (written: string): string => path.resolve(folder, written);
  const { limits = {}, mounts = [], checks = [], agent = suite.agent } = one;
  const { model: ofSuite, base, dir, ...rest } = suite;
  const own = { dir: one.dir, repository: one.repository, files: one.files };
  // A model of another agent, and a commit of another repository, mean nothing here.
  const model = one.model ?? (agent === suite.agent ? ofSuite : undefined);
  const isOwn = Object.values(own).some(place => place !== undefined);
  return {
    ...rest,
    ...defined({
      timeoutMs: timeIn(limits.timeout),
      idleMs: timeIn(limits.idle_timeout),
      maxTurns: limits.max_turns,
      maxRequests: limits.max_requests,
      maxTokens: limits.max_tokens,
      maxCostUsd: limits.max_cost_usd,
      model,
      base: one.ref ?? (isOwn ? undefined : base),
      ...(isOwn ? placed(own, at) : { dir }),
    }),
    agent,
    ...(one.setup !== undefined && { setup: setupIn(one.setup) }),
    policy: policyFor(one.policy, suite.policy, at),
    mounts: [...(suite.mounts ?? []), ...mounts.map(mount => mountBelow(mountIn(mount), folder))],
    checks: [
      ...checks.map((check, index) => checkOrderOf(check, folder, nameOfCheck(check, index))),
      ...(suite.checks ?? []),
    ],
  };
}

function setupIn(setup: NonNullable<CodingKeys['setup']>) {
  if (typeof setup === 'string') return { command: setup };
  const { command, timeout, memory } = setup;
  const memoryBytes = memory === undefined ? undefined : sizeBytes(memory);
  return defined({ command, timeoutMs: timeIn(timeout), memoryBytes });
}

function placed<Places extends object>(places: Places, at: (written: string) => string): Places {
  const given = Object.entries(defined(places)) as [string, string][];
  return Object.fromEntries(given.map(([key, place]) => [key, at(place)])) as Places;
}

function policyFor(own: string | undefined, ofSuite: string, at: (written: string) => string): string {
  if (own === undefined) return ofSuite;
  return builtInPolicy(own) ? own : at(own);
}

function timeIn(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationMs(text);
}

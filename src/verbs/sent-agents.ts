import { canonicalize } from '../base/canonical.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { AgentPolicy } from '../contracts/agent-policy/index.ts';
import { unsentKey } from '../contracts/attempt-request/index.ts';
import { effectivePolicy, requestedFrom, SYSTEM_SETTINGS } from '../policy/agent-policy.ts';
import { AGENT_ASKED, type AgentAsked } from '../run/suite/agent-asked.ts';
import type { CaseSetups } from '../run/suite/agent-work.ts';

/** What a suite says about an agent that no worker can do, by option. */
type Unsent = Pick<AgentAsked, 'modelMode' | 'recordings' | 'mounts' | 'checks' | 'allowUntestedVersion'> & {
  readonly checksFile?: string | undefined;
  readonly cpus?: number | undefined;
  readonly secrets?: Readonly<Record<string, string>>;
};

/** Refuses what does not reach workers, before anything is offered to them. */
export function refuseUnsent(asked: Unsent, setups: CaseSetups['setups']): void {
  const { modelMode = 'live', recordings, mounts = [], checks = [], checksFile, cpus, allowUntestedVersion } = asked;
  const flag = [
    modelMode !== 'live' && AGENT_ASKED.modelMode,
    recordings !== undefined && AGENT_ASKED.recordings,
    mounts.length > 0 && AGENT_ASKED.mounts,
    checks.length > 0 && AGENT_ASKED.checks,
    checksFile !== undefined && '--checks',
    allowUntestedVersion === true && AGENT_ASKED.allowUntestedVersion,
    cpus !== undefined && '--cpus',
  ].find(one => one !== false);
  if (flag !== undefined)
    throw new Fault(
      'not_queueable',
      `Workers cannot run agents with ${flag}. Omit it, or run the suite without --queue.`,
    );
  if (Object.keys(asked.secrets ?? {}).length > 0)
    throw new Fault(
      'not_queueable',
      'On workers, agents get no secrets, because anyone who can write to the queue chooses their tasks. Omit --secret, or run the suite without --queue.',
    );
  for (const { id, keys } of setups) {
    const key = unsentKey(keys);
    if (key !== undefined)
      throw new Fault(
        'not_queueable',
        `Case ${printable(id)} has the key ${key}, which workers cannot use. Remove it, or run the suite without --queue.`,
      );
  }
}

/** A policy or prices as a blob. Its digest is the hash that the target has. */
export function documentBlob(document: object): Buffer {
  return Buffer.from(`${canonicalize(document)}\n`);
}

/** A task that opens the network could reach everything that the machine of a worker reaches. */
export function opensNetwork(policy: AgentPolicy): boolean {
  return effectivePolicy(requestedFrom(SYSTEM_SETTINGS, policy)).effective.network_posture === 'allow';
}

import path from 'node:path';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { warningOf } from '../../contracts/runner/warnings.ts';
import { digestOf, probe, probeVersion } from '../../execute/agents/agent-probe.ts';
import { type AgentProgram, findAgentProgram } from '../../execute/agents/agent-program.ts';
import type { AgentContext } from './agent.ts';
import type { AgentOrder } from './order.ts';

/** An agent's program, as found and probed on this machine. */
export interface TriedProgram extends AgentProgram {
  readonly version: string;
  readonly sha256: ContentHash;
  /** The version is untested: newer than every tested one, or requested anyway. */
  readonly untested: boolean;
  /** The newest tested version, if this one is untested. */
  readonly newestTried: string | undefined;
  /** Whether the agent's own sandbox works inside ours. */
  readonly nestedSandbox: boolean;
}

/** Finds the program and probes its version. Refuses an unsupported version, unless the order allows it. */
export async function programFor(
  order: AgentOrder,
  adapter: AgentAdapter,
  around: AgentContext,
): Promise<TriedProgram> {
  const { agent } = adapter;
  const found = findAgentProgram(agent, order.environment['PATH'] ?? '');
  if (!found)
    throw new Fault(
      'no_agent',
      `${agent} is not on the PATH. Install it (${adapter.install}), or add its folder to the PATH.`,
    );
  const rememberIn = path.join(around.home, 'cache');
  const sha256 = await digestOf(found, rememberIn);
  const said = await probeVersion(around.launcher, found, rememberIn);
  const version = adapter.versionIn(said);
  const standing = version === undefined ? 'unknown' : adapter.standing(version);
  if (standing === 'unknown' && !order.allowUntestedVersion) {
    const shown = version === undefined ? 'does not report its version' : `is version ${printable(version)}`;
    throw new Fault(
      'unsupported_version',
      `${agent} ${shown}. Supported versions are ${adapter.knownVersions}. Use --allow-untested-version to run it anyway; the evidence then says so.`,
    );
  }
  const { sandboxProbe } = adapter;
  const nested = sandboxProbe && (await probe(around.launcher, found, sandboxProbe, rememberIn));
  return {
    ...found,
    version: version ?? 'unknown',
    sha256,
    untested: standing !== 'known',
    newestTried: standing === 'known' ? undefined : adapter.newestTried,
    nestedSandbox: nested?.code === 0,
  };
}

/** Warnings about an untested version, in the form that runner records use. */
export function versionWarnings({ untested, version, newestTried }: TriedProgram): string[] {
  return untested
    ? [warningOf('version', `${printable(version)} is untested; the newest tested version is ${newestTried}`)]
    : [];
}

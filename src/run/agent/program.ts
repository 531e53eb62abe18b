import path from 'node:path';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { digestOf, probe, probeVersion } from '../../execute/agent-probe.ts';
import { type AgentProgram, findAgentProgram } from '../../execute/agent-program.ts';
import type { AgentAround } from './agent.ts';
import type { AgentOrder } from './order.ts';

/** The program of an agent, as it was found and tried here. */
export interface Program extends AgentProgram {
  readonly version: string;
  readonly sha256: ContentHash;
  /** Nobody has tried its flags, and the caller wants it all the same. */
  readonly untested: boolean;
  /** A sandbox of its own works inside ours. */
  readonly nestedSandbox: boolean;
}

/** Finds the program, asks for its version, and refuses one that is not understood. */
export async function programFor(order: AgentOrder, adapter: AgentAdapter, around: AgentAround): Promise<Program> {
  const { agent } = adapter;
  const found = findAgentProgram(agent, order.environment['PATH'] ?? '');
  if (!found)
    throw new Fault(
      'no_agent',
      `There is no program called ${agent} on the PATH. Install it (${adapter.install}), or put its folder there.`,
    );
  const rememberIn = path.join(around.home, 'cache');
  const sha256 = await digestOf(found, rememberIn);
  const said = await probeVersion(around.launcher, found, rememberIn);
  const version = adapter.versionIn(said);
  const isKnown = version !== undefined && adapter.knows(version);
  if (!isKnown && !order.allowUntestedVersion) {
    const shown = version === undefined ? 'does not say its version' : `is version ${printable(version)}`;
    throw new Fault(
      'unsupported_version',
      `${agent} ${shown}, and understood are ${adapter.knownVersions}. --allow-untested-version runs it all the same, and the evidence says so.`,
    );
  }
  const { sandboxProbe } = adapter;
  const nested = sandboxProbe && (await probe(around.launcher, found, sandboxProbe, rememberIn));
  return {
    ...found,
    version: version ?? 'unknown',
    sha256,
    untested: !isKnown,
    nestedSandbox: nested?.code === 0,
  };
}

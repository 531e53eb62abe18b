import path from 'node:path';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { warningOf } from '../../contracts/runner/warnings.ts';
import { digestOf, probe, probeVersion } from '../../execute/agent-probe.ts';
import { type AgentProgram, findAgentProgram } from '../../execute/agent-program.ts';
import type { AgentAround } from './agent.ts';
import type { AgentOrder } from './order.ts';

/** The program of an agent, as it was found and tried here. */
export interface Program extends AgentProgram {
  readonly version: string;
  readonly sha256: ContentHash;
  /** Nobody has tried its flags: it is newer than those that were tried, or the caller wants it all the same. */
  readonly untested: boolean;
  /** The newest version that was tried, where this one was not. */
  readonly newestTried: string | undefined;
  /** A sandbox of its own works inside ours. */
  readonly nestedSandbox: boolean;
}

/** Finds the program, asks for its version, and refuses one that is older than those that were tried, or like none of them. */
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
  const standing = version === undefined ? 'unknown' : adapter.standing(version);
  if (standing === 'unknown' && !order.allowUntestedVersion) {
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
    untested: standing !== 'known',
    newestTried: standing === 'known' ? undefined : adapter.newestTried,
    nestedSandbox: nested?.code === 0,
  };
}

/** What the caller should know of a version that nobody has tried, in the form of the warnings of a record. */
export function versionWarnings({ untested, version, newestTried }: Program): string[] {
  return untested
    ? [warningOf('version', `${printable(version)} was not tried, the newest that was is ${newestTried}`)]
    : [];
}

import { AGENTS } from '../../adapters/agents.ts';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import { probeVersion } from '../../execute/agent-probe.ts';
import { findAgentProgram } from '../../execute/agent-program.ts';
import type { Launcher } from '../../execute/launch.ts';
import type { AgentOrder } from './order.ts';

/** Whether an agent can be run here, and with which key. */
export interface AgentHere {
  readonly agent: string;
  readonly isFound: boolean;
  /** What its program says; undefined where it is not there, or says none. */
  readonly version: string | undefined;
  /** The flags of that version are known. */
  readonly isUnderstood: boolean;
  readonly key: { readonly variable: string; readonly isSet: boolean };
  /** What is in the way, and what to do about it, in words. */
  readonly trouble: string | undefined;
  readonly advice: readonly string[];
}

/** Looks for every agent, and asks each that is there for its version, as a run would. */
export function agentsHere(launcher: Launcher, environment: AgentOrder['environment']): Promise<readonly AgentHere[]> {
  return Promise.all(AGENTS.map(adapter => agentHere(adapter, launcher, environment)));
}

async function agentHere(
  adapter: AgentAdapter,
  launcher: Launcher,
  environment: AgentOrder['environment'],
): Promise<AgentHere> {
  const { agent, api, install, knownVersions } = adapter;
  const key = { variable: api.keyVariable, isSet: Boolean(environment[api.keyVariable]) };
  const unknown = { agent, version: undefined, isUnderstood: false, key };
  const program = findAgentProgram(agent, environment['PATH'] ?? '');
  if (!program)
    return { ...unknown, isFound: false, trouble: 'is not on the PATH', advice: [`Install it: ${install}`] };
  try {
    const version = adapter.versionIn(await probeVersion(launcher, program));
    const isUnderstood = version !== undefined && adapter.knows(version);
    const advice = [
      ...(isUnderstood ? [] : [`Understood are ${knownVersions}: ${install}`]),
      ...(key.isSet ? [] : [`Set ${key.variable} to the key of the model API, or replay a recording.`]),
    ];
    const trouble = version === undefined ? 'does not say its version' : undefined;
    return { agent, isFound: true, version, isUnderstood, key, trouble, advice };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...unknown, isFound: true, trouble: `cannot be asked for its version: ${error.message}`, advice: [] };
  }
}

import { AGENTS, agentNamed } from '../../adapters/agents.ts';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import { probeVersion } from '../../execute/agents/agent-probe.ts';
import { findAgentProgram } from '../../execute/agents/agent-program.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import { readLogin } from './login.ts';
import { variablesOf } from './model.ts';
import type { AgentOrder } from './order.ts';

/** Whether an agent can run on this machine, and with which credential. */
export interface AgentHere {
  readonly agent: string;
  readonly isFound: boolean;
  /** Undefined if the program is missing or reports no version. */
  readonly version: string | undefined;
  /** Whether Proctor runs this version: its flags are known, or it is newer than every tested version. */
  readonly isUnderstood: boolean;
  /** The variable that holds the model credential: the first one that is set, else the first one that Proctor reads. */
  readonly key: { readonly variable: string; readonly isSet: boolean };
  /** Whether `--login` can use the agent program's login, and if not, why. */
  readonly login: { readonly isUsable: boolean; readonly why: string | undefined };
  /** What is wrong, and what to do about it. */
  readonly trouble: string | undefined;
  readonly advice: readonly string[];
}

/** Looks up every agent, and probes its version like a run does. */
export function agentsHere(launcher: Launcher, environment: AgentOrder['environment']): Promise<readonly AgentHere[]> {
  return Promise.all(AGENTS.map(adapter => agentHere(adapter, launcher, environment)));
}

async function agentHere(
  adapter: AgentAdapter,
  launcher: Launcher,
  environment: AgentOrder['environment'],
): Promise<AgentHere> {
  const { agent, api, install, knownVersions, newestTried } = adapter;
  const found = api.credentials.find(({ name }) => environment[name]);
  const key = { variable: (found ?? api.credentials[0]).name, isSet: found !== undefined };
  const login = loginHere(adapter, environment);
  const unknown = { agent, version: undefined, isUnderstood: false, key, login };
  const program = findAgentProgram(agent, environment['PATH'] ?? '');
  if (!program)
    return { ...unknown, isFound: false, trouble: 'is not on the PATH', advice: [`Install it: ${install}`] };
  try {
    const version = adapter.versionIn(await probeVersion(launcher, program));
    const standing = version === undefined ? 'unknown' : adapter.standing(version);
    const isUnderstood = standing !== 'unknown';
    const advice = [
      ...(standing === 'known'
        ? []
        : [
            standing === 'newer'
              ? `It is newer than ${newestTried}, the newest tested version. The evidence of each run says so.`
              : `Supported versions are ${knownVersions} and newer: ${install}`,
          ]),
      ...(key.isSet ? [] : [accessAdvice(adapter, login.isUsable)]),
    ];
    const trouble = version === undefined ? 'does not report its version' : undefined;
    return { agent, isFound: true, version, isUnderstood, key, login, trouble, advice };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...unknown, isFound: true, trouble: `cannot report its version: ${error.message}`, advice: [] };
  }
}

/** The variables that may hold an agent's model credential, by precedence. */
export function credentialVariables(agent: string): readonly string[] {
  const adapter = agentNamed(agent);
  return adapter ? variablesOf(adapter) : [];
}

function accessAdvice(adapter: AgentAdapter, isLoggedIn: boolean): string {
  const login = isLoggedIn ? `, use the login of ${adapter.agent} with --login ${adapter.agent}` : '';
  return `Set ${variablesOf(adapter).join(' or ')} for the model API${login}, or replay a recording.`;
}

function loginHere({ agent, api }: AgentAdapter, environment: AgentOrder['environment']): AgentHere['login'] {
  try {
    readLogin(agent, api.login, environment);
    return { isUsable: true, why: undefined };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { isUsable: false, why: error.message };
  }
}

import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { isPrintable, printable } from '../../base/printable.ts';
import { credentialVariables } from '../../run/agent/agents-here.ts';
import { AGENT_NAMES } from './find-agents.ts';
import { type FoundScript, scriptAt } from './find-scripts.ts';
import type { AgentName, Look } from './look.ts';
import { type InitChoice, PROJECT } from './plan.ts';
import { planProject } from './plan-project.ts';
import { type Survey, surveyFolder } from './survey.ts';
import { refuseExisting, writeProject, type WrittenFile } from './write-project.ts';

export { agentCost } from './plan-project.ts';
export { likelyServer } from './plan-api.ts';
export type { Survey };

/** The user's choices. init detects or asks for the rest. */
export interface InitWishes {
  readonly kind?: InitChoice['kind'];
  readonly url?: string;
  readonly agent?: string;
  readonly script?: string;
  readonly name?: string;
}

export interface InitOptions {
  readonly cwd: string;
  readonly environment: Look['environment'];
  readonly wishes: InitWishes;
  /** Asks for the missing choices. Without it, init uses what it found. */
  readonly ask?: (survey: Survey, wishes: InitWishes) => Promise<InitWishes>;
  readonly ports?: readonly number[];
  /** Once aborted, nothing is written. */
  readonly signal?: AbortSignal;
}

export interface InitializedProject {
  readonly name: string;
  readonly kind: InitChoice['kind'];
  readonly what: string;
  readonly files: readonly WrittenFile[];
  readonly notes: readonly string[];
  /** Whether Proctor guessed how the target takes a message. */
  readonly isGuessed: boolean;
}

/** Sets up a project: looks, asks, and writes proctor.yaml with a first suite. Starts and overwrites nothing. */
export async function initProject({ cwd, ask, wishes, signal, ...look }: InitOptions): Promise<InitializedProject> {
  // Before any question: the answers would be lost.
  refuseExisting(cwd, [{ file: PROJECT }]);
  const named = checkedWishes(wishes);
  const found = await surveyFolder({ ...look, cwd, ...urlOf(named) });
  const settled = ask ? checkedWishes(await ask(found, named)) : named;
  // An address that was typed in has not been probed yet.
  const survey = settled.url === named.url ? found : await surveyFolder({ ...look, cwd, ...urlOf(settled) });
  const choice = choiceOf(settled, survey, cwd);
  const { what, files, notes, isGuessed = false } = planProject(choice, survey);
  if (signal?.aborted) throw new Fault('cancelled', 'Cancelled. Nothing was written.');
  // A changed file in the repository would stop the agent, which needs a clean work tree.
  const written = writeProject(cwd, files, choice.kind === 'agent' ? 'if_missing' : 'always');
  return {
    name: choice.name,
    kind: choice.kind,
    what,
    files: written,
    isGuessed,
    notes: [...notes, ...(choice.kind === 'agent' ? agentNotes(choice.agent, survey, look.environment) : [])],
  };
}

function urlOf({ url }: InitWishes): { readonly url?: string } {
  return url === undefined ? {} : { url };
}

/** Refuses choices that contradict each other, and addresses that cannot be tested. */
export function checkedWishes(wishes: InitWishes): InitWishes {
  const { kind, url, name } = wishes;
  const implied = KINDS.filter(([key]) => wishes[key] !== undefined);
  const [first] = implied;
  if (implied.length > 1 || (first && kind !== undefined && kind !== first[1]))
    throw new Fault('usage', 'Name one thing to test: --url for http, --agent for agent, or --script for script.');
  if (url !== undefined && !isTestable(url))
    throw new Fault('usage', 'The URL must start with http:// or https://, without user, query or fragment.');
  if (name !== undefined && (name.trim() === '' || name.length > 100 || !isPrintable(name)))
    throw new Fault('usage', 'The name must be 1 to 100 printable characters.');
  return kind === undefined && first ? { ...wishes, kind: first[1] } : wishes;
}

const KINDS = [
  ['url', 'http'],
  ['agent', 'agent'],
  ['script', 'script'],
] as const;

function isTestable(url: string): boolean {
  if (!URL.canParse(url) || !isPrintable(url) || url.includes('$')) return false;
  const { protocol, username, password, search, hash } = new URL(url);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}

function choiceOf(wishes: InitWishes, survey: Survey, cwd: string): InitChoice {
  const { kind = 'http', url, name = survey.name } = wishes;
  if (kind === 'agent') return { kind, name, agent: agentOf(wishes.agent ?? survey.agents[0]) };
  if (kind === 'http') return { kind, name, ...(url !== undefined && { url }) };
  const script = wishes.script === undefined ? likelyScript(survey) : namedScript(wishes.script, cwd);
  return { kind, name, ...(script && { script }) };
}

/** init chooses only a script that reads cases, because any other may do anything. */
export function likelyScript({ scripts }: Survey): FoundScript | undefined {
  return scripts.find(({ readsCases }) => readsCases);
}

export function agentOf(word: string | undefined): AgentName {
  if (word === undefined)
    throw new Fault('no_agent', 'Neither claude nor codex is on the PATH. Install one, or name it with --agent.');
  const agent = AGENT_NAMES.find(name => name === word);
  if (agent === undefined) throw new Fault('usage', `The agent must be ${AGENT_NAMES.join(' or ')}.`);
  return agent;
}

/** The script that the user named. Throws if it cannot be tested. */
export function namedScript(word: string, cwd: string): FoundScript {
  const file = path.relative(cwd, path.resolve(cwd, word)).split(path.sep).join('/');
  if (file === '' || file.startsWith('../') || path.isAbsolute(file) || !isPrintable(file) || file.includes('$'))
    throw new Fault('usage', 'The script must be a file in this folder, and its name must not contain $.');
  const found = scriptAt(cwd, file);
  if (!found)
    throw new Fault('no_script', `Cannot read the script "${printable(word)}", or it is a link or larger than 1 MiB.`);
  return found;
}

function agentNotes(agent: AgentName, { agents }: Survey, environment: Look['environment']): string[] {
  const variables = credentialVariables(agent);
  return [
    ...(agents.includes(agent) ? [] : [`${agent} is not on the PATH. Install it before a test.`]),
    ...(variables.some(name => environment[name])
      ? []
      : [`Set ${variables.join(' or ')}: the agent needs access to its model.`]),
  ];
}

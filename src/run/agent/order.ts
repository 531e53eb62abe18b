import { AGENTS, agentNamed } from '../../adapters/agents.ts';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { hostPathIn, unsafePath } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import type { TaskAttempt } from '../../contracts/agent-step/attempt.ts';
import type { Overrides } from '../../policy/agent-policy.ts';
import type { CheckOrder } from '../../contracts/checks/check-order.ts';
import type { SetupOrder } from '../setup/order.ts';
import type { MountRequest } from './mounts.ts';
import { checkVariable } from '../script/order.ts';

/** An agent run, as the caller describes it. */
export interface AgentOrder {
  /** `claude` or `codex`. */
  readonly agent: string;
  readonly task: string;
  /** Where the task text comes from, for readers of the evidence: `prompts/implement@3`. */
  readonly promptReference?: string;
  /** The folder to clone for the agent. */
  readonly dir?: string;
  /** A git repository, bare or not, or a git bundle, instead of `dir`. Only its commits matter. */
  readonly repository?: string;
  /** A command that prepares the tree before the agent starts, such as `npm ci`. Its result is cached. */
  readonly setup?: SetupOrder;
  /** A folder whose files join the base commit. Without `dir` and `repository`, the agent gets only these files. */
  readonly files?: string;
  /** `read-only`, `edit`, `open`, or the path of a policy file. */
  readonly policy: string;
  /** Limits that tighten the policy for this run. Looser ones are refused. */
  readonly overrides?: Overrides;
  readonly timeoutMs?: number;
  readonly idleMs?: number;
  readonly model?: string;
  readonly maxTurns?: number;
  /** The maximum number of requests that make the model answer, including those of subprocesses. */
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  /** The price file that the model proxy uses to count cost. */
  readonly prices?: string;
  /** How many CPUs the agent may use at once. Refused if no control group can enforce it. */
  readonly cpus?: number;
  /** Environment variables whose values are masked in everything that is stored or shown. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Store well-known credentials unmasked. Declared secrets are always masked. */
  readonly keepCredentials?: boolean;
  /** Whether the model answers live, is recorded, or is replayed from a recording. Default: `live`. */
  readonly modelMode?: 'live' | 'record' | 'replay';
  readonly recording?: string;
  /** `env` takes the credential from a variable; `claude` or `codex` from that program's login. Default: `env`. */
  readonly login?: 'env' | 'claude' | 'codex';
  /** Refuse the run if no model can be reached. */
  readonly needsModel?: boolean;
  /** Allow an untested version of the agent. */
  readonly allowUntestedVersion?: boolean;
  /** Run even if the folder has uncommitted changes. The agent does not see them. */
  readonly allowDirty?: boolean;
  /** The commit to start from instead of HEAD: a branch, a tag, a commit ID or an ancestor such as `HEAD~2`. */
  readonly base?: string;
  /** Folders that the agent can read but not change. Their content is hashed, and is not part of the changes. */
  readonly mounts?: readonly MountRequest[];
  /** Whether the agent gets the project's instructions for agents. Default: true. */
  readonly projectContext?: boolean;
  /** Commands that run in the tree that the agent leaves, each in a new sandbox without a network. */
  readonly checks?: readonly CheckOrder[];
  /** Which of several attempts at this task the run is. */
  readonly attempt?: TaskAttempt;
  /** Where Proctor looks up the program and the model credential. The agent does not see it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
}

/** Checks everything that a caller can get wrong and that does not depend on the machine. */
export function checkAgentOrder(order: AgentOrder): AgentAdapter {
  const adapter = agentNamed(order.agent);
  if (!adapter) {
    const names = AGENTS.map(({ agent }) => agent);
    throw new Fault(
      'usage',
      `Unknown agent "${printable(order.agent)}".${didYouMean(order.agent, names)} Use ${names.join(' or ')}.`,
    );
  }
  checkTask(order.task);
  for (const [name, value] of Object.entries(order.secrets ?? {})) {
    checkVariable(name);
    checkSecret(name, value);
  }
  if (order.promptReference !== undefined && !/^[^\p{Cc}\p{Cs}]{1,500}$/u.test(order.promptReference))
    throw new Fault('usage', 'The prompt reference must have 1 to 500 characters, on one line.');
  if (order.promptReference !== undefined && hostPathIn(order.promptReference) !== undefined)
    throw new Fault('usage', 'The prompt reference is an absolute path, which evidence must not contain.');
  checkStart(order);
  if (order.model !== undefined && !/^\w[\w.:/@ -]{0,199}$/.test(order.model))
    throw new Fault('usage', 'The model name is not valid.');
  const { allowed_paths, forbidden_paths } = order.overrides ?? {};
  for (const path of [...(allowed_paths ?? []), ...(forbidden_paths ?? [])]) {
    const trouble = unsafePath(path);
    if (trouble) throw new Fault('usage', `"${printable(path)}" is not a path below the folder: it ${trouble}.`);
  }
  const { modelMode = 'live', recording, login = 'env' } = order;
  if (!['env', adapter.agent].includes(login))
    throw new Fault(
      'usage',
      `${adapter.agent} cannot use the login of ${printable(login)}. Use --login env or --login ${adapter.agent}.`,
    );
  if (modelMode === 'live' && recording !== undefined)
    throw new Fault('usage', '--recording requires --model-mode record or replay.');
  if (modelMode !== 'live' && recording === undefined)
    throw new Fault('usage', `--model-mode ${modelMode} requires --recording FILE.`);
  return adapter;
}

function checkStart({ dir, repository, files, base }: AgentOrder): void {
  if (dir !== undefined && repository !== undefined)
    throw new Fault('usage', 'Use either --dir or --repository, because an agent starts from one of them.');
  if (dir !== undefined || repository !== undefined) return;
  if (files === undefined) throw new Fault('usage', 'The agent needs a folder, a repository or files to start from.');
  if (base !== undefined)
    throw new Fault('usage', '--base requires --dir or --repository, because files have no commits.');
}

function checkTask(task: string): void {
  if (task.trim() === '') throw new Fault('usage', 'The task is empty. Describe what the agent should do.');
  if (Buffer.byteLength(task) > TASK_BYTES_MAX)
    throw new Fault(
      'usage',
      `The task is too long: ${Buffer.byteLength(task)} bytes. The limit is ${TASK_BYTES_MAX / 1024} KiB. Put long text into a file in the folder.`,
    );
  if (/\0|\p{Cs}/u.test(task)) throw new Fault('usage', 'The task contains a NUL or half a surrogate pair.');
}

/** Masking a short value would make the agent's output unreadable. */
function checkSecret(name: string, value: string): void {
  if (value !== '' && value.trim().length < SECRET_UNITS_MIN)
    throw new Fault(
      'usage',
      `The value of ${name} is too short to mask. It needs at least ${SECRET_UNITS_MIN} characters.`,
    );
}

const SECRET_UNITS_MIN = 6;
const TASK_BYTES_MAX = 512 * 1024;

import { AGENTS, agentNamed } from '../../adapters/agents.ts';
import type { AgentAdapter } from '../../adapters/agent.ts';
import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { hostPathIn, unsafePath } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import type { Overrides } from '../../policy/agent-policy.ts';
import { checkVariable } from '../order.ts';

/** What a caller wants an agent to do. */
export interface AgentOrder {
  /** `claude` or `codex`. */
  readonly agent: string;
  readonly task: string;
  /** Where the text of the task comes from, for whoever reads the evidence: `prompts/implement@3`. */
  readonly promptReference?: string;
  /** The folder that the agent gets a private clone of. */
  readonly dir: string;
  /** `read-only`, `edit`, `open` or the file of a policy. */
  readonly policy: string;
  /** What is tighter for this run than the policy has it. What would be looser is refused. */
  readonly overrides?: Overrides;
  readonly timeoutMs?: number;
  readonly idleMs?: number;
  readonly model?: string;
  readonly maxTurns?: number;
  /** Requests that make the model answer, whoever inside makes them. */
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  /** The file of prices by which the door counts cost. */
  readonly prices?: string;
  /** How many processors it may use at once. Refused where no control group can hold it to that. */
  readonly cpus?: number;
  /** Variables that the agent sees, and whose values are masked wherever they would be stored or shown. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Well-known credentials are stored as the agent says them. Declared secrets never are. */
  readonly keepCredentials?: boolean;
  /** Whether the model answers now, answers and is recorded, or a recording answers; `live`, if not said. */
  readonly modelMode?: 'live' | 'record' | 'replay';
  /** The file of the recording. */
  readonly recording?: string;
  /** `env`: a variable opens the model API; `claude`, `codex`: the login that this agent's own program keeps. `env`, if not said. */
  readonly login?: 'env' | 'claude' | 'codex';
  /** Refused where there is no way to a model; else it runs, and ends as it may. */
  readonly needsModel?: boolean;
  /** Also a version of the agent that nobody has tried. */
  readonly allowUntestedVersion?: boolean;
  /** Also where the folder has changes that are not committed, which the agent then does not see. */
  readonly allowDirty?: boolean;
  /** Whether the agent gets the instructions that the project has for agents; true, if not said. */
  readonly projectContext?: boolean;
  /** Where the program and the key of the model are looked up. Nothing of it reaches the agent. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where files that are named are looked for. */
  readonly cwd: string;
}

/** Doubts everything that a caller can get wrong and that needs no look at the machine. */
export function checkAgentOrder(order: AgentOrder): AgentAdapter {
  const adapter = agentNamed(order.agent);
  if (!adapter) {
    const names = AGENTS.map(({ agent }) => agent);
    throw new Fault(
      'usage',
      `There is no agent "${printable(order.agent)}".${didYouMean(order.agent, names)} There are: ${names.join(', ')}.`,
    );
  }
  checkTask(order.task);
  for (const [name, value] of Object.entries(order.secrets ?? {})) {
    checkVariable(name);
    checkSecret(name, value);
  }
  if (order.promptReference !== undefined && !/^[^\p{Cc}\p{Cs}]{1,500}$/u.test(order.promptReference))
    throw new Fault('usage', 'The reference of the prompt must be a text of 1 to 500 characters.');
  if (order.promptReference !== undefined && hostPathIn(order.promptReference) !== undefined)
    throw new Fault('usage', 'The reference of the prompt is a path of this machine, which evidence may not hold.');
  if (order.model !== undefined && !/^\w[\w.:/@ -]{0,199}$/.test(order.model))
    throw new Fault('usage', 'The model is no name that an agent could take.');
  const { allowed_paths, forbidden_paths } = order.overrides ?? {};
  for (const path of [...(allowed_paths ?? []), ...(forbidden_paths ?? [])]) {
    const trouble = unsafePath(path);
    if (trouble) throw new Fault('usage', `"${printable(path)}" is no path below the folder: it ${trouble}.`);
  }
  const { modelMode = 'live', recording, login = 'env' } = order;
  if (!['env', adapter.agent].includes(login))
    throw new Fault(
      'usage',
      `The login of ${printable(login)} opens no model for ${adapter.agent}. Say --login env or --login ${adapter.agent}.`,
    );
  if (modelMode === 'live' && recording !== undefined)
    throw new Fault('usage', 'A recording is of use only with --model-mode record or replay.');
  if (modelMode !== 'live' && recording === undefined)
    throw new Fault('usage', `The model mode ${modelMode} needs a recording: --recording FILE.`);
  return adapter;
}

function checkTask(task: string): void {
  if (task.trim() === '') throw new Fault('usage', 'The task is empty: say what the agent is to do.');
  if (Buffer.byteLength(task) > TASK_BYTES_MAX)
    throw new Fault(
      'usage',
      `The task is too long: ${Buffer.byteLength(task)} bytes, and at most ${TASK_BYTES_MAX / 1024} KiB are taken. Put what is long into a file of the folder.`,
    );
  if (/\0|\p{Cs}/u.test(task)) throw new Fault('usage', 'The task holds a zero byte or half a character.');
}

/** Masked wherever it stands, a short value would tear holes into every line of the agent, and nobody could read them. */
function checkSecret(name: string, value: string): void {
  if (value !== '' && value.trim().length < SECRET_UNITS_MIN)
    throw new Fault(
      'usage',
      `The value of ${name} is too short to be masked: it takes at least ${SECRET_UNITS_MIN} characters.`,
    );
}

const SECRET_UNITS_MIN = 6;
const TASK_BYTES_MAX = 512 * 1024;

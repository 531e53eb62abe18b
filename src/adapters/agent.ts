import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { AgentReader } from '../contracts/agent-step/reading.ts';
import type { Family } from '../contracts/agent-step/words.ts';
import type { CredentialKind } from '../contracts/recording/index.ts';
import type { Capabilities } from '../policy/capabilities.ts';
import type { ContextPlaces, ProjectContext } from './context.ts';
import type { LoginFile } from './login.ts';
import type { Standing } from './versions.ts';

/** What an agent is asked, once everything is decided. Paths are those inside the sandbox. */
export interface AgentCall {
  readonly version: string;
  readonly task: string;
  readonly policy: EffectivePolicy;
  readonly model: string | undefined;
  readonly maxTurns: number | undefined;
  readonly maxCostUsd: number | undefined;
  /** A UUID of ours, by which the agent calls its session. */
  readonly sessionId: string;
  readonly workFolder: string;
  readonly home: string;
  /** A folder that is read-only inside, in which the files of the invocation lie. */
  readonly toolFolder: string;
  /** Where the model answers, the word that opens the door to it, and how it is sent; undefined if there is no model to reach. */
  readonly door: { readonly url: string; readonly token: string; readonly as: CredentialKind } | undefined;
  /** A sandbox of the agent's own works inside ours. */
  readonly nestedSandbox: boolean;
  /** The project's instructions for agents; undefined where it has none, null where they are left out. */
  readonly context: ProjectContext | null | undefined;
}

/** How an agent's program is started. */
export interface Invocation {
  readonly mode: 'claude_print' | 'codex_exec';
  /** After the program. Never the task. */
  readonly args: readonly string[];
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  /** Files of `toolFolder`, by their paths in it. */
  readonly files: Readonly<Record<string, { readonly text: string; readonly mode: 0o644 | 0o755 }>>;
  /** Below `home`, if the agent leaves its last message in a file. */
  readonly lastMessageFile: string | undefined;
  /** What was done natively for which dimension, for the summary of the policy. */
  readonly notes: readonly string[];
}

export interface ReaderOptions {
  readonly approval: EffectivePolicy['approval_posture'];
  readonly maxTurns: number | undefined;
  /** Whether a path, as the agent names it, is one that it may not write to. */
  readonly isGuarded?: (path: string) => boolean;
}

/** A variable of the caller's environment that opens a model API. */
interface CredentialVariable {
  readonly name: string;
  readonly as: CredentialKind;
}

/** How a model API is asked, from outside the sandbox. */
interface ModelApi {
  readonly kind: 'anthropic' | 'openai';
  /** The first that is set is used. */
  readonly credentials: readonly [CredentialVariable, ...CredentialVariable[]];
  readonly urlVariable: string;
  readonly defaultUrl: string;
  /** The header that carries a key. Anything else is a bearer token. */
  readonly keyHeader: 'x-api-key' | 'authorization';
  /** The login of the agent's own program, which is used only when it is asked for by name. */
  readonly login: LoginFile;
}

/** An agent that can be run. Pure translation: it starts nothing and reads nothing. */
export interface AgentAdapter {
  readonly family: Family;
  /** What people call it, and its program. */
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly api: ModelApi;
  readonly context: ContextPlaces;
  /** The version in what `--version` prints; undefined if there is none. */
  versionIn(text: string): string | undefined;
  /** How a version stands to those whose flags were tried. */
  standing(version: string): Standing;
  /** What is known, in words: `2.1.190 to 2.1.209`. */
  readonly knownVersions: string;
  readonly newestTried: string;
  /** The command that installs a version that is known. */
  readonly install: string;
  /** The tools by which its model asks the user. */
  readonly questionTools: readonly string[];
  /** Arguments that try the agent's own sandbox; undefined if it has none. It works where they end with 0. */
  readonly sandboxProbe: readonly string[] | undefined;
  invoke(call: AgentCall): Invocation;
  reader(options: ReaderOptions): AgentReader;
}

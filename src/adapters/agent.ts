import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { AgentReader } from '../contracts/agent-step/reading.ts';
import type { Family } from '../contracts/agent-step/words.ts';
import type { CredentialKind } from '../contracts/recording/index.ts';
import type { Capabilities } from '../policy/capabilities.ts';
import type { ModelTurn } from './claude-turn.ts';
import type { ContextPlaces, ProjectContext } from './context.ts';
import type { StreamObject } from './json-values.ts';
import type { LoginFile } from './login.ts';
import type { VersionStanding } from './versions.ts';

/** A resolved request to run an agent. Paths are inside the sandbox. */
export interface AgentCall {
  readonly version: string;
  readonly task: string;
  readonly policy: EffectivePolicy;
  readonly model: string | undefined;
  readonly maxTurns: number | undefined;
  readonly maxCostUsd: number | undefined;
  /** A UUID that Proctor assigns to the agent's session. */
  readonly sessionId: string;
  readonly workFolder: string;
  readonly home: string;
  /** A read-only folder with the files in `Invocation.files`. */
  readonly toolFolder: string;
  /** The address of the model proxy, its token, and how the agent sends the token; undefined if there is no model. */
  readonly door: { readonly url: string; readonly token: string; readonly as: CredentialKind } | undefined;
  /** Whether the agent can start its sandbox inside Proctor's. */
  readonly nestedSandbox: boolean;
  /** The project's instructions for agents; undefined if it has none, null if the run excludes them. */
  readonly context: ProjectContext | null | undefined;
}

/** The command line, input and files that start an agent. */
export interface Invocation {
  readonly mode: 'claude_print' | 'codex_exec';
  /** The arguments, without the program and the task. */
  readonly args: readonly string[];
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  /** The files in `toolFolder`, by relative path. */
  readonly files: Readonly<Record<string, { readonly text: string; readonly mode: 0o644 | 0o755 }>>;
  /** Relative to `home`, if the agent writes its last message to a file. */
  readonly lastMessageFile: string | undefined;
  /** How the agent enforces each dimension of the policy, for the policy summary. */
  readonly notes: readonly string[];
}

export interface ReaderOptions {
  readonly approval: EffectivePolicy['approval_posture'];
  readonly maxTurns: number | undefined;
  /** Whether the policy forbids writing to a path, as named by the agent. */
  readonly isGuarded?: (path: string) => boolean;
}

/** An environment variable of the caller that contains a credential for the model API. */
interface CredentialVariable {
  readonly name: string;
  readonly as: CredentialKind;
}

/** How Proctor calls a model API from outside the sandbox. */
interface ModelApi {
  readonly kind: 'anthropic' | 'openai';
  /** Proctor uses the first one that is set. */
  readonly credentials: readonly [CredentialVariable, ...CredentialVariable[]];
  readonly urlVariable: string;
  readonly defaultUrl: string;
  /** The header for an API key. All other credentials are bearer tokens. */
  readonly keyHeader: 'x-api-key' | 'authorization';
  /** The login that the agent's CLI stores. Proctor uses it only if the caller requests it. */
  readonly login: LoginFile;
}

/** Translates between Proctor and one agent. It has no side effects. */
export interface AgentAdapter {
  readonly family: Family;
  /** The name of the agent, which is also the name of its program. */
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly api: ModelApi;
  readonly context: ContextPlaces;
  /** Extracts the version from the output of `--version`. */
  versionIn(text: string): string | undefined;
  standing(version: string): VersionStanding;
  /** The tested versions as text, such as `2.1.190 to 2.1.209`. */
  readonly knownVersions: string;
  readonly newestTried: string;
  /** The command that installs a known version. */
  readonly install: string;
  /** The tools that ask the user. */
  readonly questionTools: readonly string[];
  /**
   * Arguments that test the agent's sandbox: it works if the agent exits with 0. Undefined if the agent has no sandbox.
   */
  readonly sandboxProbe: readonly string[] | undefined;
  invoke(call: AgentCall): Invocation;
  reader(options: ReaderOptions): AgentReader;
  /** The model answer that a line of the native stream belongs to. Absent if the agent does not report it. */
  readonly turnIn?: (line: StreamObject) => ModelTurn | undefined;
}

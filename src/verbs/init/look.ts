/** Where to look. Every detector reads a bounded part of it, and changes nothing. */
export interface Look {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The address that the user named. It is probed first, if it is on this machine. */
  readonly url?: string;
  /** The ports to probe besides those that the folder names. */
  readonly ports?: readonly number[];
}

export type AgentName = 'claude' | 'codex';

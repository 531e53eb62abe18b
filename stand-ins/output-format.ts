export interface Call {
  readonly id: string;
  readonly tool: 'command' | 'write';
  /** The command, or the path. */
  readonly what: string;
}

/** The output format of one agent. Each method prints the lines that the real agent prints. */
export interface Tongue {
  readonly version: string;
  begin(): void;
  says(text: string): void;
  calls(call: Call): void;
  returned(call: Call, output: string, exitCode: number): void;
  denied(call: Call): void;
  /** The file tool failed, and why. */
  notWritten(call: Call, why: string): void;
  /** The agent asks the user; not every agent reports it. */
  asks(): void;
  /** The API did not answer; the agent retries. */
  retries(attempt: number): void;
  /** A line that readers ignore. */
  unknown(): void;
  finishes(text: string): void;
  /** The API answered with an error, which ends the run. */
  fails(status: number): void;
}

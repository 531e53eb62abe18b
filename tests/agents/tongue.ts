/** A tool that is being used. */
export interface Call {
  readonly id: string;
  readonly tool: 'command' | 'write';
  /** The command, or the path. */
  readonly what: string;
}

/** How one family of agents tells what it does. Each method prints the lines that the real one prints then. */
export interface Tongue {
  readonly version: string;
  begin(): void;
  says(text: string): void;
  calls(call: Call): void;
  returned(call: Call, output: string, exitCode: number): void;
  denied(call: Call): void;
  /** Its tool for files could not write, and why. */
  notWritten(call: Call, why: string): void;
  /** It asks the user; not every family tells. */
  asks(): void;
  /** The API did not answer; it tries again. */
  retries(attempt: number): void;
  /** A line that nobody outside needs to know. */
  unknown(): void;
  finishes(text: string): void;
  /** The API answered with an error, and that is the end. */
  fails(status: number): void;
}

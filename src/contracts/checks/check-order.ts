/** A command that runs in the tree that an agent leaves, as the caller describes it. */
export interface CheckOrder {
  /** Default: `check-1`, `check-2` and so on. */
  readonly name?: string;
  readonly command: string;
  readonly timeoutMs?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
  /** A folder with files that the agent never sees. Proctor lays them over the tree before the check. */
  readonly overlay?: string;
  /** The paths whose changes count in the second look. */
  readonly paths?: readonly string[];
  /** The JUnit or CTRF file that the command writes. */
  readonly report?: string;
  /** Files that Proctor does not put back. `*`, `?` and `**` match names. */
  readonly keep?: readonly string[];
}

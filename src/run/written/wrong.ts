/** A fault in a file that a user wrote. */
export interface WrittenWrong {
  /** Absent if the fault concerns the whole file. */
  readonly line?: number | undefined;
  /** The message, without a full stop. */
  readonly says: string;
}

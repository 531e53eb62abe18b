/** Something that is wrong with a file as it was written. */
export interface WrittenWrong {
  /** Absent if the file as a whole is meant. */
  readonly line?: number | undefined;
  /** What is wrong, without a full stop. */
  readonly says: string;
}

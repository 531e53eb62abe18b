/** Thrown for an expectation that cannot be judged because the expectation itself is invalid. */
export class Unjudgeable extends Error {
  override readonly name = 'Unjudgeable';
}

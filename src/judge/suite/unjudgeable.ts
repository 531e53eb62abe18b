/** An expectation that nobody could judge, because of what it asks and not because of the answer. */
export class Unjudgeable extends Error {
  override readonly name = 'Unjudgeable';
}

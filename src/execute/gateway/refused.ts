/** Why the door refuses a request. The words stand in the evidence. */
type Refusal = 'endpoint' | 'encoding' | 'body' | 'key' | 'reach' | 'reference' | 'tool' | 'model' | 'budget';

/** A request that must not go out. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly what: Refusal;
  /** The endpoint, or the path in the body. Never a value. */
  readonly where: string;

  constructor(what: Refusal, where: string, sentence: string) {
    super(sentence);
    this.what = what;
    this.where = where;
  }
}

/** Why a request is refused. The evidence contains these words. */
type Refusal =
  | 'token'
  | 'load'
  | 'size'
  | 'endpoint'
  | 'encoding'
  | 'body'
  | 'key'
  | 'reach'
  | 'reference'
  | 'tool'
  | 'model'
  | 'budget';

export class Refused extends Error {
  override readonly name = 'Refused';
  readonly what: Refusal;
  /** The endpoint, or the path in the body. Never a value. */
  readonly where: string;
  readonly status: number;

  constructor(what: Refusal, where: string, says: string, status = 400) {
    super(says);
    this.what = what;
    this.where = where;
    this.status = status;
  }

  get sentence(): string {
    return GENERAL.has(this.where) ? `${this.message}.` : `${this.message}: ${this.where}.`;
  }

  /** The same refusal without secrets in `where`. */
  masked(mask: (text: string) => string): Refused {
    return new Refused(this.what, mask(this.where), this.message, this.status);
  }
}

/** Locations that add nothing to the sentence. */
const GENERAL: ReadonlySet<string> = new Set(['request', 'body', 'budget']);

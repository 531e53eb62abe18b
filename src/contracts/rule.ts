/**
 * An invariant of a document format: its name and reason, the keys it owns, what else it checks, and one document that
 * breaks this rule and no other.
 */
export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** Its requirements, one sentence each. Those that start with "should" are advice. */
  readonly asks: readonly string[];
  /** The keys that this rule owns, such as `a.b[].c`. A malformed key breaks the rule that owns it. */
  readonly fields: readonly string[];
  /** Keys of other rules that `check` reads. */
  readonly reads?: readonly string[];
  /** Runs only if all keys in `fields` and `reads` are well-formed. */
  readonly check?: (document: never, context: Context) => Iterable<Finding>;
  /** Checks that need only some of the keys, so that one malformed key does not suppress the others. */
  readonly parts?: readonly RulePart[];
  /** Turns the contract's example into a document that breaks this rule alone. */
  readonly breach: (example: never) => unknown;
}

export interface RulePart {
  /** The keys that must be well-formed. */
  readonly over: readonly string[];
  /** The members of these keys may be malformed. The check tests each of them itself. */
  readonly shallow?: true;
  readonly check: (document: never, context: Context) => Iterable<Finding>;
}

/** What a rule knows besides the document. */
export interface Context {
  /** Unknown keys and non-canonical bytes are violations. */
  readonly strict: boolean;
  /** The document is internal and may contain what a public one must not. */
  readonly internal: boolean;
  /** The policy.json next to the document, if any. */
  readonly profileBeside?: unknown;
  /** The document is in a run folder. */
  readonly ofRun?: boolean;
}

export interface Finding {
  readonly level: 'must' | 'should';
  /** Such as `a.b[0]`. */
  readonly path: string;
  /** Follows the path: "is absolute". Never quotes the document, which may contain secrets. */
  readonly message: string;
}

/** A violation: the document is invalid. */
export function must(path: string, message: string): Finding {
  return { level: 'must', path, message };
}

/** Advice: the document stays valid. */
export function should(path: string, message: string): Finding {
  return { level: 'should', path, message };
}

/** A violation in strict mode, as for a document that starts a run; advice otherwise, because old evidence may contain it. */
export function mustWhenStrict({ strict }: Context, path: string, message: string): Finding {
  return strict ? must(path, message) : should(path, message);
}

/** Defines rules of one format: `const rule = rulesFor<Runner>()`. A check can read only the keys that its rule declares. */
export function rulesFor<Document>() {
  return <const Field extends FieldOf<Document>, const Read extends FieldOf<Document> = never>(rule: {
    readonly id: string;
    readonly title: string;
    readonly why: string;
    readonly asks: readonly string[];
    readonly fields: readonly Field[];
    readonly reads?: readonly Read[];
    readonly check?: (
      document: Pick<Document, Head<Field | Read> & keyof Document>,
      context: Context,
    ) => Iterable<Finding>;
    readonly parts?: readonly {
      readonly over: readonly FieldOf<Document>[];
      readonly shallow?: true;
      readonly check: (document: Document, context: Context) => Iterable<Finding>;
    }[];
    readonly breach: (example: Document) => unknown;
  }): Rule => rule;
}

export const UNKNOWN_KEY = 'is an unknown key';

export const NO_UNKNOWN_KEYS = 'should (must, when strict): no key is unknown';

/** The rule that owns `schema_version`. */
export function versionRule(id: string, title: string, version: string, what: string): Rule {
  return {
    id,
    title,
    why: `The version tells a reader which rules apply to ${what}.`,
    asks: [`schema_version is "${version}"`, NO_UNKNOWN_KEYS],
    fields: ['schema_version'],
    breach: (example: object) => ({ ...example, schema_version: version.replace(/\d+$/, '9') }),
  };
}

type Head<Path extends string> = Path extends `${infer First}.${string}`
  ? Head<First>
  : Path extends `${infer First}[]${string}`
    ? First
    : Path;

type FieldOf<Document> = Key<Document> | `${Key<Document>}.${string}` | `${Key<Document>}[]${string}`;

type Key<Document> = keyof Document & string;

/**
 * An invariant of a document, as a thing you can hold: what it is called, why it exists, which keys belong to it, what
 * else must hold of them, and one document that breaks it and nothing else.
 */
export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** What it asks for, a sentence each; those that begin with "should" are advice. */
  readonly asks: readonly string[];
  /** The keys that belong to this rule, as `a.b[].c`. A key of the wrong shape is a violation of the rule that owns it. */
  readonly fields: readonly string[];
  /** Keys of other rules that `check` looks at too. */
  readonly reads?: readonly string[];
  /** Runs only when every key in `fields` and `reads` has its shape. */
  readonly check?: (document: never, context: Context) => Iterable<Finding>;
  /** Checks that each need only some of the keys, so that a fault in one key does not silence what is said of another. */
  readonly parts?: readonly Part[];
  /** Turns the contract's example into a document that breaks this rule alone. */
  readonly breach: (example: never) => unknown;
}

export interface Part {
  /** The keys that must have their shape. */
  readonly over: readonly string[];
  /** Only they themselves must, and not what is inside them: the check doubts every element. */
  readonly shallow?: true;
  readonly check: (document: never, context: Context) => Iterable<Finding>;
}

/** What a rule may know beyond the document itself. */
export interface Context {
  /** Unknown keys and bytes that are not canonical count as violations. */
  readonly strict: boolean;
  /** The document is for internal use and may hold what a public one must not. */
  readonly internal: boolean;
  /** The policy.json that lies beside the document, if one does. */
  readonly profileBeside?: unknown;
  /** The document lies in the folder of a run of ours. */
  readonly ofRun?: boolean;
}

export interface Finding {
  readonly level: 'must' | 'should';
  /** Reads `a.b[0]`. */
  readonly path: string;
  /** Continues the path: "is absolute". Quotes no text of the document, which may be a secret. */
  readonly message: string;
}

/** A breach of a MUST: the document is invalid. */
export function must(path: string, message: string): Finding {
  return { level: 'must', path, message };
}

/** A breach of a SHOULD: advice, and the document stays valid. */
export function should(path: string, message: string): Finding {
  return { level: 'should', path, message };
}

/** What makes a document useless for a run, though an older version of it may lie in evidence: a MUST where it is strict. */
export function mustWhenStrict({ strict }: Context, path: string, message: string): Finding {
  return strict ? must(path, message) : should(path, message);
}

/**
 * The words to write rules of one document with: `const rule = rulesFor<Runner>()`. A check sees only the keys that the
 * rule declares; the compiler holds it to that.
 */
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

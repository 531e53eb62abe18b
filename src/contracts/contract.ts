import type { Claim } from './claim.ts';
import type { Rule } from './rule.ts';
import type { Shape } from './shape.ts';

/** A public promise about one kind of document. Everything else, from the verifier to the docs, is made from it. */
export interface Contract {
  /** What `--as` and `proctor schema` call it. */
  readonly name: string;
  readonly title: string;
  /** One sentence: what such a document tells. */
  readonly tells: string;
  /** Where the promise is written down. */
  readonly source: string;
  /** The key and value by which a document says what it is; none for those that are known by their file name alone. */
  readonly version?: { readonly field: string; readonly value: string | number };
  /** An unknown version is the only thing said of a document; without this, the rest is judged all the same. */
  readonly versionFirst?: true;
  /** File names by which a document is known that does not say what it is. */
  readonly fileNames?: readonly string[];
  readonly shape: Shape;
  readonly rules: readonly Rule[];
  /** The rule that unknown keys at the top break in strict mode. */
  readonly unknownKeys: string;
  /** The rule that asks for canonical bytes, if one does. */
  readonly canonicalBytes?: string;
  /** The keys that the content hash covers; all of them if not said. */
  readonly core?: readonly string[];
  /** The keys of a second hash, over what is equal between two runs in the same surroundings. */
  readonly environment?: readonly string[];
  /** The key that must not repeat among the documents of one file or folder, or those with the same `within`, and its rule. */
  readonly unique?: { readonly field: string; readonly within?: string; readonly rule: string };
  /** Keys that hold the program's own words, where a path of some machine is no leak of ours. */
  readonly programText?: readonly string[];
  /** What the document says of files beside it. */
  readonly claims?: (document: never) => Iterable<Claim>;
  /** How many folders above its own the files of its claims are counted from; 0 if not said. */
  readonly claimsFrom?: number;
  /** Every other file in its folder must be among its claims. */
  readonly listsItsFolder?: true;
  /** It names a profile, which may lie beside it as policy.json. */
  readonly namesProfile?: true;
  /** What no look at the document alone can tell. */
  readonly beyond?: readonly string[];
  readonly bytesMax: number;
  readonly example: unknown;
}

export const MIB = 1024 * 1024;

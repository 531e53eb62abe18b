import type { Claim } from './claim.ts';
import type { Rule } from './rule.ts';
import type { Shape } from './shape.ts';

/** The definition of one document format. The verifier, the JSON Schema and the docs are all derived from it. */
export interface Contract {
  /** The name that `--as` and `proctor schema` accept. */
  readonly name: string;
  readonly title: string;
  /** One sentence on what the document contains. */
  readonly tells: string;
  /** The published description in the JSON Schema, which must not change. Default: `tells` and `source`. */
  readonly schemaTells?: string;
  /** The specification. */
  readonly source: string;
  /** The key and value that identify the format; absent for formats that only a file name identifies. */
  readonly version?: { readonly field: string; readonly value: string | number };
  /** If the version is unknown, report only that. */
  readonly versionFirst?: true;
  /** File names that identify a document without a version key. */
  readonly fileNames?: readonly string[];
  readonly shape: Shape;
  readonly rules: readonly Rule[];
  /** The rule that unknown top-level keys break in strict mode. */
  readonly unknownKeys: string;
  /** The rule that requires canonical bytes. */
  readonly canonicalBytes?: string;
  /** The keys that the content hash covers; all by default. */
  readonly core?: readonly string[];
  /** The keys of a second hash, which is equal for two runs in the same environment. */
  readonly environment?: readonly string[];
  /** A key whose value must be unique in a file or folder, or among documents with the same `within`. */
  readonly unique?: { readonly field: string; readonly within?: string; readonly rule: string };
  /** Keys with text from the program. A host path in them does not count as a leak. */
  readonly programText?: readonly string[];
  /** The claims that the document makes about other files. */
  readonly claims?: (document: never) => Iterable<Claim>;
  /** The number of levels between the document's folder and the folder that its claims are relative to; 0 by default. */
  readonly claimsFrom?: number;
  /** Every other file in its folder must be among its claims. */
  readonly listsItsFolder?: true;
  /** It names a profile, which may be next to it as policy.json. */
  readonly namesProfile?: true;
  /** What the document alone cannot prove. */
  readonly beyond?: readonly string[];
  readonly bytesMax: number;
  readonly example: unknown;
}

export const MIB = 1024 * 1024;

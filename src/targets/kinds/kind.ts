import type { ReplyMapping, ValueForm } from '../../contracts/target/mapping.ts';
import type { DeclarationOf, DeclaredKind, TargetRequest } from '../../contracts/target/index.ts';
import type { TemplateValues } from '../mapping/template-names.ts';

/**
 * A kind of target that is reached by HTTP: the request to send, and how to read the reply. Both are data: the request
 * is a tree with placeholders, and the mapping consists of paths.
 */
export interface ApiKind<Kind extends DeclaredKind> {
  readonly request: (declaration: DeclarationOf<Kind>) => ApiRequest;
  /** Undefined for Proctor's own form. */
  readonly reply: (declaration: DeclarationOf<Kind>) => ReplyForm | undefined;
}

export interface ApiRequest extends TargetRequest {
  /** Headers of the protocol. A declared header of the same name wins. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes a body that no tree of placeholders can express. */
  readonly write?: (values: TemplateValues) => string;
}

export interface ReplyForm {
  /** A stream becomes a document with a list of frames. */
  readonly as: 'json' | 'sse' | 'ndjson' | 'text';
  readonly mapping: ReplyMapping;
  /** The path to the output in a frame. The first frame with an output gives the time to the first token. */
  readonly firstOutput?: string;
  /** A path that finds something in every stream that is whole. Without it, a server that dies would seem to have finished. */
  readonly last?: string;
}

/** An empty output for a reply that has this path: a message that only calls tools has no text. */
export function emptyWith(path: string) {
  return { path, map: {}, else: '' };
}

/** The message of an error, or the whole error if it has none: that is a failure too. */
export function messageOf(error: string): ValueForm[] {
  return [`${error}.message`, error];
}

import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import type { DeclarationOf, DeclaredKind, TargetRequest } from '../../contracts/target/index.ts';

/**
 * A kind of target that is reached by HTTP: the request to send, and how to read the reply. Both are data: the request
 * is a tree with placeholders, and the mapping consists of paths.
 */
export interface ApiKind<Kind extends DeclaredKind> {
  readonly request: (declaration: DeclarationOf<Kind>) => ApiRequest;
  readonly reply: (declaration: DeclarationOf<Kind>) => ReplyForm;
}

export interface ApiRequest extends TargetRequest {
  /** Headers of the protocol. A declared header of the same name wins. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ReplyForm {
  /** A stream becomes a document with a list of frames. */
  readonly as: 'json' | 'sse' | 'ndjson' | 'text';
  readonly mapping: ReplyMapping;
  /** The path to the output in a frame. The first frame with an output gives the time to the first token. */
  readonly firstOutput?: string;
}

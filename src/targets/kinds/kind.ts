import type { ReplyMapping, SingleValue } from '../../contracts/target/mapping.ts';
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
  /** The protocol may repeat calls and results. Each counts once. */
  readonly repeats?: true;
}

/** An empty output for a reply that has this path: a message that only calls tools has no text. */
export function emptyWith(path: string) {
  return { path, map: {}, else: '' };
}

/** A failure if the model stopped before its answer was complete. Other and unknown reasons are not failures. */
export function stoppedEarly(reason: string): SingleValue {
  return { path: reason, last: true, map: STOPPED_EARLY, else: '' };
}

const TOO_LONG = 'The answer was cut off at its length limit.';
const FILTERED = 'A content filter cut off the answer.';

/** The reasons of all model APIs. Frameworks such as LangGraph pass them on. */
const STOPPED_EARLY: Readonly<Record<string, string>> = {
  length: TOO_LONG,
  model_length: TOO_LONG,
  max_tokens: TOO_LONG,
  MAX_TOKENS: TOO_LONG,
  max_output_tokens: TOO_LONG,
  model_context_window_exceeded: TOO_LONG,
  content_filter: FILTERED,
  content_filtered: FILTERED,
  guardrail_intervened: FILTERED,
  SAFETY: FILTERED,
  refusal: 'The model refused in the middle of its answer.',
  pause_turn: 'The model paused before its answer was complete.',
  error: 'The model failed while it answered.',
};

/** The message of an error, or the whole error if it has none, because that is a failure too. */
export function messageOf(error: string): SingleValue[] {
  return [`${error}.message`, error];
}

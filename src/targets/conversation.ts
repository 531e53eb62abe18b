import { readJson } from '../base/json.ts';
import type { DeclarationOf } from '../contracts/target/index.ts';
import { CallCompiler, type CallFields, type CallText, compileHeaders, stateTest } from './calls.ts';
import type { TemplateValues } from './mapping/template-names.ts';

/** What to send over a WebSocket, and when the reply is complete. */
export interface ConversationCalls {
  readonly url: CallText;
  readonly headers: CallFields;
  readonly messages: (values: TemplateValues) => string[];
  /** Whether `until` says that this message is the last. */
  readonly isLast: (message: string) => boolean;
}

/** Compiles a declaration. Throws a TemplateError or MappingError with the key that is wrong. */
export function compileConversation(declaration: DeclarationOf<'websocket'>): ConversationCalls {
  const { url, send, until } = declaration;
  const compiler = new CallCompiler(new Set());
  const isOver = until && stateTest(until, 'until.path');
  const messages = compiler.tree(send, 'send');
  return {
    url: compiler.text(url, 'url', 'none'),
    headers: compileHeaders(declaration, {}, compiler),
    messages: values => (messages(values) as unknown[]).map(textOf),
    isLast: message => isOver?.(documentOf(message)) ?? false,
  };
}

/** A text is sent as it is, and a tree as JSON. */
function textOf(message: unknown): string {
  return typeof message === 'string' ? message : JSON.stringify(message);
}

/** The value of a message that is JSON, or its text. */
function documentOf(message: string): unknown {
  const bytes = Buffer.from(message);
  const reading = readJson(bytes, { bytesMax: bytes.length });
  return reading.ok ? reading.value : message;
}

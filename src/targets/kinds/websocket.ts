import type { DeclarationOf } from '../../contracts/target/index.ts';
import type { ReplyForm } from './kind.ts';

/** A conversation over a WebSocket. Its messages are stored as lines of JSON, and read as a stream. */
export function websocketReply({ reply, first_output }: DeclarationOf<'websocket'>): ReplyForm {
  return { as: 'ndjson', mapping: reply, ...(first_output !== undefined && { firstOutput: first_output }) };
}

import type { DeclarationOf } from '../../contracts/target/index.ts';
import type { ReplyForm } from './kind.ts';

/** A program. Without a mapping, the text it prints is the answer. */
export function commandReply({ reply }: DeclarationOf<'command'>): ReplyForm {
  return reply ? { as: 'json', mapping: reply } : { as: 'text', mapping: { final_output: '$.text' } };
}

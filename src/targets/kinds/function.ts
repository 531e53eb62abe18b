import type { DeclarationOf } from '../../contracts/target/index.ts';
import type { ReplyForm } from './kind.ts';

/** A function. Without a mapping, it returns a reply in Proctor's own form, or only the output. */
export function functionReply({ reply }: DeclarationOf<'function'>): ReplyForm | undefined {
  return reply && { as: 'json', mapping: reply };
}

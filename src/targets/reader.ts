import type { SuiteTarget } from '../contracts/suite/index.ts';
import type { TargetDeclaration } from '../contracts/target/index.ts';
import { functionReader } from './function-reader.ts';
import { replyFormOf } from './kinds/kinds.ts';
import { type KeptReply, mappedReader, type ReplyReader } from './mapped-reader.ts';
import { readReply } from './reply.ts';
import { type ReplyEnd, replyEnd } from './reply-end.ts';

export type { KeptReply, ReplyReader };

/** The reader for the replies of a target. Throws a MappingError if its mapping is not valid. */
export function replyReader(target: SuiteTarget, bytesMax: number): ReplyReader {
  const isLenient = 'replies' in target && target.replies === 'lenient';
  if (target.kind === 'declared')
    return declaredReader(target.declaration, isLenient, bytesMax, replyEnd(target.declaration));
  return ({ body }, names) => readReply(body, bytesMax, { ...names, isLenient });
}

/** The same for a declaration. `end` says whether a reply is whole. */
export function declaredReader(
  declaration: TargetDeclaration,
  isLenient: boolean,
  bytesMax: number,
  end?: ReplyEnd,
): ReplyReader {
  const form = replyFormOf(declaration);
  if (!form && declaration.kind === 'function') return functionReader(isLenient, bytesMax);
  if (!form) return ({ body }, names) => readReply(body, bytesMax, { ...names, isLenient });
  const price = 'price' in declaration ? declaration.price : undefined;
  return mappedReader({ form, price, isLenient, bytesMax, end });
}

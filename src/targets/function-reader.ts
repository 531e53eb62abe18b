import { isObject } from '../contracts/kind.ts';
import type { ReplyReader } from './mapped-reader.ts';
import { checkReply, readReplyJson } from './reply.ts';

/** Reads what a function returned: a reply in Proctor's own form, or only the final output. */
export function functionReader(isLenient: boolean, bytesMax: number): ReplyReader {
  return ({ body }, names) => {
    const document = readReplyJson(body, bytesMax);
    if (!document.ok) return document;
    const { value } = document;
    const isReply = isObject(value) && Object.hasOwn(value, 'final_output');
    return checkReply(isReply ? value : { final_output: outputOf(value) }, { ...names, isLenient });
  };
}

/** The output of an artifact is a text or an object, so any other value becomes its JSON text. */
function outputOf(value: unknown): object {
  if (isObject(value)) return { content_type: 'json', content: value };
  return { content_type: 'text', content: typeof value === 'string' ? value : JSON.stringify(value) };
}

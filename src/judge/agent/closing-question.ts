/**
 * Whether a message ends with a question to the user: the last sentence is a question, and it addresses the user or is
 * the whole message. A courtesy such as `Anything else?` does not count. Reads only the end of the message.
 */
export function asksAtEnd(text: string): boolean {
  const tail = withoutCode(text.slice(-TAIL_UNITS)).trimEnd();
  if (!MARK.test(tail)) return false;
  const sentences = tail
    .split(/(?<=[.!?\u037e\u061f\u3002\uff01\uff1f])\s+|\n+/)
    .filter(sentence => /\p{L}/u.test(sentence));
  const last = sentences.at(-1);
  if (last === undefined || COURTESY.test(last)) return false;
  // `Should I? (yes/no)?` is one question.
  const before = sentences.at(-2) ?? '';
  const asked = MARK.test(before) ? `${before} ${last}` : last;
  return sentences.length === 1 || TO_USER.test(asked) || !LATIN.test(asked);
}

const TAIL_UNITS = 4_000;

/** Quotes and brackets may follow the question mark. Includes Greek, Arabic and full-width question marks. */
const MARK = /[?\u037e\u061f\uff1f][\s"'”’»)\]*_`]*$/;

/** Words that address the user, or that an agent uses when it waits for the user. */
const TO_USER =
  /\b(?:you|your|yours|i|we|me|us|which|what|where|who|how many|should|shall|could|would|may|can|please|proceed|continue|ok|okay|prefer|confirm)\b/i;

/** An offer of more work, which needs no answer. */
const COURTESY =
  /\b(?:anything else|something else|any (?:other|further|more) (?:questions?|changes|help)|else (?:i|we) can (?:do|help)|make sense|sound good)\b|^(?:would you like|do you want|shall i|should i|want) (?:me )?(?:to )?(?:also|explain|anything else|help with (?:anything|something) else)\b/i;

/** Text in Latin script, which may be English. English words are matched only in such text. */
const LATIN = /^[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]+$/u;

/** Code is not addressed to the user. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?(?:```|$)/g, ' ');
}

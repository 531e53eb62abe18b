/**
 * Whether a message ends by asking the user something: its last sentence is a question, and it speaks to the user or is all
 * that is said. A courtesy after work that was done, such as `Anything else?`, asks for nothing. Only the end is read.
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

/** Quotes and brackets may follow the mark. Greek, Arabic and wide question marks are others. */
const MARK = /[?\u037e\u061f\uff1f][\s"'”’»)\]*_`]*$/;

/** Words of the user, or of an agent that waits for them. */
const TO_USER =
  /\b(?:you|your|yours|i|we|me|us|which|what|where|who|how many|should|shall|could|would|may|can|please|proceed|continue|ok|okay|prefer|confirm)\b/i;

/** An offer of more work; nothing waits for the answer. */
const COURTESY =
  /\b(?:anything else|something else|any (?:other|further|more) (?:questions?|changes|help)|else (?:i|we) can (?:do|help)|make sense|sound good)\b|^(?:would you like|do you want|shall i|should i|want) (?:me )?(?:to )?(?:also|explain|anything else|help with (?:anything|something) else)\b/i;

/** English words are looked for only where English could stand. */
const LATIN = /^[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]+$/u;

/** What stands in code is not said to anybody. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?(?:```|$)/g, ' ');
}

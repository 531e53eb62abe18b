import { clip } from '../../base/clip.ts';
import { hostPathIn } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import { holdsSecret, redact } from '../../base/redact.ts';
import { MESSAGE_BYTES_MAX } from '../../contracts/evaluation/index.ts';

/**
 * Builds a sentence around untrusted words, which are shortened and masked, or omitted if they contain a machine path.
 */
export function quoting(words: string, say: (quoted: string) => string): string {
  const sentence = say(`"${shortened(words, QUOTE_BYTES_MAX)}"`);
  return mayBeShown(sentence) ? sentence : say('a text that is not shown here');
}

/** Untrusted words as a message, or `instead` if they must not be shown or are empty. */
export function saying(words: string, instead: string): string {
  const sentence = shortened(words.trim(), MESSAGE_BYTES_MAX);
  return sentence !== '' && mayBeShown(sentence) ? sentence : instead;
}

function shortened(words: string, bytesMax: number): string {
  // Text after this is never shown: a mask is at most as long as the text it hides.
  const head = words.slice(0, HEAD_UNITS).toWellFormed();
  const { text, truncated } = clip(printable(redact(head).text), bytesMax - ELLIPSIS_BYTES);
  return truncated || head.length < words.length ? `${text}…` : text;
}

function mayBeShown(sentence: string): boolean {
  return (
    Buffer.byteLength(sentence) <= MESSAGE_BYTES_MAX && hostPathIn(sentence) === undefined && !holdsSecret(sentence)
  );
}

const QUOTE_BYTES_MAX = 80;
const ELLIPSIS_BYTES = 3;
const HEAD_UNITS = 8_192;

import { clip } from '../../base/clip.ts';
import { holdsAbsolutePath } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import { holdsSecret } from '../../base/redact.ts';

/** Quotes a string from an intent: short, on one line, and without secrets. */
export function quotedText(text: string): string {
  const shown = printable(clip(text, SHOWN_BYTES).text);
  return holdsAbsolutePath(shown) || holdsSecret(shown) ? 'a text that is not shown here' : `"${shown}"`;
}

const SHOWN_BYTES = 80;

/** Whether a text is a page or a fragment of HTML. */
export function looksLikeHtml(content: unknown): content is string {
  if (typeof content !== 'string') return false;
  const start = content.slice(0, CHARS_MAX).trim();
  return WHOLE.test(start) || (OPENING.test(start) && CLOSING.test(start.slice(-TAG_CHARS_MAX)));
}

const CHARS_MAX = 200_000;
const TAG_CHARS_MAX = 200;
const WHOLE = /^<(?:!doctype html|html\b|!-{2})/i;
// The lookahead keeps a long name from being tried at each of its lengths, which would stall the page.
const OPENING = /^<[a-z][a-z0-9-]*(?![a-z0-9-])[^>]*>/i;
const CLOSING = /<\/[a-z][a-z0-9-]*\s*>$/i;

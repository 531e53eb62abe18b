/** A text that was cut to a number of bytes, and knows how long it was. */
export interface Clipped {
  readonly text: string;
  readonly truncated: boolean;
  readonly bytesTotal: number;
}

/** Keeps the head of a text, at most `bytesMax` bytes of UTF-8, never half a code point. */
export function clip(text: string, bytesMax: number): Clipped {
  const bytesTotal = Buffer.byteLength(text);
  if (bytesTotal <= bytesMax) return { text, truncated: false, bytesTotal };
  // No code unit takes more than three bytes and none less than one, so the head alone is worth encoding.
  const bytes = Buffer.from(text.slice(0, bytesMax));
  let end = Math.min(bytesMax, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: bytes.toString('utf8', 0, end), truncated: true, bytesTotal };
}

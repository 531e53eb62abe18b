/** A text, possibly truncated, with its original length. */
export interface Clipped {
  readonly text: string;
  readonly truncated: boolean;
  readonly bytesTotal: number;
}

/** Truncates a text to at most `bytesMax` bytes of UTF-8, at a code point boundary. */
export function clip(text: string, bytesMax: number): Clipped {
  const bytesTotal = Buffer.byteLength(text);
  if (bytesTotal <= bytesMax) return { text, truncated: false, bytesTotal };
  // Every code unit takes at least one byte, so encoding the beginning is enough.
  const bytes = Buffer.from(text.slice(0, bytesMax));
  let end = Math.min(bytesMax, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: bytes.toString('utf8', 0, end), truncated: true, bytesTotal };
}

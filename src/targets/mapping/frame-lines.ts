/** The complete lines of server-sent events. A line ends with CR, LF or CRLF; what follows the last one is a line too. */
export function* sseLines(bytes: Uint8Array): Generator<Uint8Array> {
  let from = startOf(bytes);
  let carriage = bytes.indexOf(CARRIAGE_BYTE, from);
  let feed = bytes.indexOf(FEED_BYTE, from);
  while (carriage >= 0 || feed >= 0) {
    const end = carriage >= 0 && (feed < 0 || carriage < feed) ? carriage : feed;
    yield bytes.subarray(from, end);
    from = end === carriage && end + 1 === feed ? end + 2 : end + 1;
    // Searches each byte once for either. Otherwise a stream of only one of them would take quadratic time.
    if (carriage >= 0 && carriage < from) carriage = bytes.indexOf(CARRIAGE_BYTE, from);
    if (feed >= 0 && feed < from) feed = bytes.indexOf(FEED_BYTE, from);
  }
  if (from < bytes.length) yield bytes.subarray(from);
}

/** The lines of NDJSON that are not blank. The last one needs no line feed. */
export function* ndjsonLines(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = startOf(bytes); from < bytes.length; ) {
    const feed = bytes.indexOf(FEED_BYTE, from);
    const end = feed < 0 ? bytes.length : feed;
    const line = bytes.subarray(from, end);
    if (!isBlankLine(line)) yield line;
    from = end + 1;
  }
}

/** After the byte order mark, if there is one. */
function startOf(bytes: Uint8Array): number {
  return BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte) ? BYTE_ORDER_MARK.length : 0;
}

const isBlankLine = (line: Uint8Array): boolean => line.every(isBlankByte);

export const isBlankByte = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_BYTE;

export const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf];
export const CARRIAGE_BYTE = 0x0d;
export const FEED_BYTE = 0x0a;

/** Why bytes are not a valid JSON document. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
}

type RefusalCode =
  | 'empty'
  | 'too_large'
  | 'too_many_values'
  | 'too_deep'
  | 'byte_order_mark'
  | 'not_utf8'
  | 'syntax'
  | 'trailing_bytes'
  | 'duplicate_key'
  | 'lone_surrogate'
  | 'not_finite'
  | 'unsafe_integer';

export interface JsonLimits {
  readonly bytesMax: number;
}

export const JSON_DEPTH_MAX = 64;

/** One value per 16 bytes of the size limit: enough for any real document, too few for a flood of `[],[],…`. */
export function valuesMaxOf(bytesMax: number): number {
  return Math.max(1024, Math.floor(bytesMax / 16));
}

export function tooManyValues(bytesMax: number): string {
  return `The document contains more than ${valuesMaxOf(bytesMax).toLocaleString('en-US')} values.`;
}

export function tooLarge(bytesMax: number): string {
  return `The document exceeds its limit of ${bytesMax.toLocaleString('en-US')} bytes.`;
}

/** A refusal with its position. Only refused documents pay for counting lines. */
export function refusal(code: RefusalCode, message: string, bytes: Uint8Array, at: number): Refusal {
  let line = 1;
  let lineStart = 0;
  for (let index = 0; index < at; index++) {
    if (bytes[index] === 0x0a) {
      line++;
      lineStart = index + 1;
    }
  }
  const byte = `byte ${at - lineStart + 1}`;
  return { code, message: `${message} (${bytes.includes(0x0a) ? `line ${line}, ${byte}` : byte}).` };
}

export function utf8Text(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString('utf8');
}

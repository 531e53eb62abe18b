import { isUtf8 } from 'node:buffer';
import { canonicalize } from '../../base/canonical.ts';
import { readJson } from '../../base/json.ts';
import { Masker, type Masking } from '../../base/masker.ts';
import { maskedEvents } from './recorded-events.ts';
import type { RecordedBody, RecordedRequest } from '../../contracts/recording/index.ts';

interface Kept {
  readonly body: RecordedBody;
  readonly masked: number;
}

interface AskedRequest {
  readonly request: RecordedRequest;
  readonly masked: number;
}

export function asked(method: RecordedRequest['method'], path: string, bytes: Buffer, masking: Masking): AskedRequest {
  const masker = new Masker(masking);
  const safePath = masker.whole(Buffer.from(path)).toString();
  const { body, masked } = keptJson(bytes, masking);
  return { request: { method, path: safePath, body }, masked: masker.masked + masked };
}

/** Canonicalizes JSON before masking, because JSON can escape every character in several ways. */
function keptJson(bytes: Buffer, masking: Masking): Kept {
  const reading = readJson(bytes, { bytesMax: bytes.length });
  if (!reading.ok || reading.values > Math.max(VALUES_ALWAYS, bytes.length / VALUE_BYTES))
    return keptBytes(bytes, masking);
  const masker = new Masker(masking);
  const text = masker.whole(Buffer.from(canonicalize(reading.value)));
  const safe = masker.masked > 0 ? readJson(text, { bytesMax: text.length }) : reading;
  if (!safe.ok || depthOf(safe.value) > DEPTH_MAX) return { ...keptBytes(text, masking), masked: masker.masked };
  return { body: { form: 'json', value: safe.value }, masked: masker.masked };
}

/** The end of an interrupted body may be the start of a secret, so it is left out. */
export function keptBytes(bytes: Buffer, masking: Masking, isCut = false): Kept {
  if (bytes.length === 0) return { body: null, masked: 0 };
  const masker = new Masker(masking);
  const events = isEvents(bytes) ? maskedEvents(bytes.toString(), masking) : undefined;
  const joined = events && events.masked > 0 ? Buffer.from(events.text) : bytes;
  const safe = isCut ? masker.cut(joined) : masker.whole(joined);
  const body = isUtf8(safe)
    ? ({ form: 'text', value: safe.toString() } as const)
    : ({ form: 'base64', value: safe.toString('base64') } as const);
  return { body, masked: masker.masked + (events?.masked ?? 0) };
}

/** Whether this is a server-sent event stream. */
function isEvents(bytes: Buffer): boolean {
  return /^(?:event|data|id|retry|:)/.test(bytes.toString('latin1', 0, 8)) && isUtf8(bytes);
}

export function recordedBytes(body: RecordedBody): Buffer {
  if (body === null || typeof body.value !== 'string') return Buffer.alloc(0);
  return Buffer.from(body.value, body.form === 'base64' ? 'base64' : 'utf8');
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const key in value) deepest = Math.max(deepest, depthOf((value as Record<string, unknown>)[key]));
  return deepest + 1;
}

/** Documents are limited to 64 levels and one value per 16 bytes, so deeper or denser bodies are recorded as text. */
const DEPTH_MAX = 56;
const VALUE_BYTES = 32;
const VALUES_ALWAYS = 128;

import { VERSION } from '../base/version.ts';
import { COMMON } from './names.ts';
import type { KnownAttribute } from './span.ts';
import { type SpanContext, spanContextIn } from './traceparent.ts';

/** Where spans go, and what they belong to. */
export interface TraceSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly resource: readonly KnownAttribute[];
  /** The span that Proctor was started in. */
  readonly parent: SpanContext | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads OpenTelemetry's standard variables. Without settings, nothing is exported: because nothing asks for it, or because
 * of what `warning` says.
 */
export function traceSettings(environment: Environment): {
  readonly settings?: TraceSettings;
  readonly warning?: string;
} {
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined;
  if (value('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return {};
  if (value('OTEL_TRACES_EXPORTER')?.toLowerCase() === 'none') return {};
  try {
    const url = endpointIn(value);
    if (url === undefined) return {};
    refuseProtocol(value);
    const parent = spanContextIn(value('TRACEPARENT'));
    return {
      settings: { url, headers: headersIn(value), timeoutMs: timeoutIn(value), resource: resourceIn(value), parent },
    };
  } catch (error) {
    if (error instanceof Unusable) return { warning: `Proctor exports no traces: ${error.message}` };
    throw error;
  }
}

type Value = (name: string) => string | undefined;

/** Why a variable cannot be used. Never contains its value, which may be a secret. */
class Unusable extends Error {}

/** The variable for traces comes before the one for all signals. */
function forTraces(value: Value, name: string): readonly [name: string, value: string] | undefined {
  for (const full of [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`]) {
    const found = value(full);
    if (found !== undefined) return [full, found];
  }
  return undefined;
}

function endpointIn(value: Value): string | undefined {
  const [name, text] = forTraces(value, 'ENDPOINT') ?? [];
  if (name === undefined || text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new Unusable(`${name} is not a URL that starts with http:// or https://.`);
  if (url.username !== '' || url.password !== '')
    throw new Unusable(`${name} contains a user name or a password. Put them into OTEL_EXPORTER_OTLP_HEADERS.`);
  url.hash = '';
  if (!name.includes('TRACES')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url.href;
}

function refuseProtocol(value: Value): void {
  const [name, protocol] = forTraces(value, 'PROTOCOL') ?? [];
  if (name !== undefined && protocol !== 'http/json')
    throw new Unusable(`${name} names a protocol that Proctor does not support. Set it to http/json, or unset it.`);
}

function headersIn(value: Value): Record<string, string> {
  const [name, text] = forTraces(value, 'HEADERS') ?? [];
  if (name === undefined || text === undefined) return {};
  const pairs = pairsIn(text);
  try {
    if (pairs) return Object.fromEntries(new Headers(pairs.map(([key, entry]) => [key, entry])));
  } catch {
    // The name or the value of a header is invalid.
  }
  throw new Unusable(`${name} is not a list such as name=value,name=value.`);
}

function timeoutIn(value: Value): number {
  const [name, text] = forTraces(value, 'TIMEOUT') ?? [];
  if (name === undefined || text === undefined) return TIMEOUT_MS;
  if (/^[1-9]\d{0,8}$/.test(text)) return Math.min(Number(text), TIMEOUT_MS_MAX);
  throw new Unusable(`${name} is not a number of milliseconds.`);
}

const TIMEOUT_MS = 10_000;
const TIMEOUT_MS_MAX = 60_000;

function resourceIn(value: Value): KnownAttribute[] {
  const pairs = pairsIn(value('OTEL_RESOURCE_ATTRIBUTES') ?? '');
  if (!pairs) throw new Unusable('OTEL_RESOURCE_ATTRIBUTES is not a list such as name=value,name=value.');
  const attributes = new Map<string, string>([
    [COMMON.serviceName, 'proctor'],
    [COMMON.serviceVersion, VERSION],
    ...pairs,
  ]);
  const service = value('OTEL_SERVICE_NAME');
  if (service !== undefined) attributes.set(COMMON.serviceName, service);
  return [...attributes];
}

/** Pairs such as `name=value,name=value`, with percent-encoded values; undefined if the text is something else. */
function pairsIn(text: string): [name: string, value: string][] | undefined {
  const entries = text.split(',').filter(entry => entry.trim() !== '');
  if (text.length > TEXT_CHARS_MAX || entries.length > PAIRS_MAX) return undefined;
  const pairs: [string, string][] = [];
  for (const entry of entries) {
    const at = entry.indexOf('=');
    const name = entry.slice(0, Math.max(at, 0)).trim();
    if (name === '') return undefined;
    try {
      pairs.push([name, decodeURIComponent(entry.slice(at + 1).trim())]);
    } catch {
      return undefined;
    }
  }
  return pairs;
}

const TEXT_CHARS_MAX = 16_384;
const PAIRS_MAX = 64;

import type { SuiteRequest } from '../../contracts/suite/index.ts';

export interface SuiteSettings {
  readonly timeoutMs: number;
  readonly idleMs: number;
  readonly retries: number;
  readonly concurrency: number;
  readonly bodyBytesMax: number;
  readonly snippetBytesMax: number;
  readonly payloadInlineBytesMax: number;
  /** Consecutive attempts without a response before the breaker opens; 0 disables it. */
  readonly breakerFailures: number;
}

export const DEFAULT_SETTINGS: SuiteSettings = {
  timeoutMs: 60_000,
  idleMs: 60_000,
  retries: 2,
  concurrency: 4,
  bodyBytesMax: 2_000_000,
  snippetBytesMax: 4_000,
  payloadInlineBytesMax: 65_536,
  breakerFailures: 20,
};

/** Defaults for agents, which work longer and stay silent longer. */
export const AGENT_CLOCKS = { timeoutMs: 600_000, idleMs: 120_000 } as const satisfies Partial<SuiteSettings>;

export function settingsNote(settings: SuiteSettings): SuiteRequest['settings'] {
  return {
    timeout_ms: settings.timeoutMs,
    idle_timeout_ms: settings.idleMs,
    retries: settings.retries,
    concurrency: settings.concurrency,
    max_body_bytes: settings.bodyBytesMax,
    max_inline_snippet_bytes: settings.snippetBytesMax,
    max_payload_inline_bytes: settings.payloadInlineBytesMax,
    breaker_failures: settings.breakerFailures,
  };
}

export function settingsFrom(note: SuiteRequest['settings']): SuiteSettings {
  return {
    timeoutMs: note.timeout_ms,
    idleMs: note.idle_timeout_ms,
    retries: note.retries,
    concurrency: note.concurrency,
    bodyBytesMax: note.max_body_bytes,
    snippetBytesMax: note.max_inline_snippet_bytes,
    payloadInlineBytesMax: note.max_payload_inline_bytes,
    breakerFailures: note.breaker_failures,
  };
}

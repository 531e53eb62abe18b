import { existsSync } from 'node:fs';
import path from 'node:path';
import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import { metadata, type Metadata } from '../contracts/agent-step/index.ts';
import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { formOf } from '../contracts/form.ts';
import { runner } from '../contracts/runner/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import { scriptOutcome } from '../contracts/script-outcome/index.ts';
import type { ScriptOutcome } from '../contracts/script-outcome/shape.ts';
import { scriptRequest } from '../contracts/script-request/index.ts';
import type { ScriptRequest } from '../contracts/script-request/shape.ts';
import { scriptResult } from '../contracts/script-result/index.ts';
import type { ScriptResult } from '../contracts/script-result/shape.ts';
import { JOURNAL } from './journal.ts';

/** The documents of a script run. A document that violates its contract is undefined here. */
export interface ScriptFolder {
  readonly isOpen: boolean;
  readonly request: ScriptRequest | undefined;
  readonly runner: Runner | undefined;
  readonly outcome: ScriptOutcome | undefined;
  readonly metadata: Metadata | undefined;
  readonly result: ScriptResult | undefined;
}

export function readScriptFolder(folder: string): ScriptFolder {
  return {
    isOpen: existsSync(path.join(folder, JOURNAL)),
    request: documentIn(folder, 'evidence/request.json', scriptRequest) as ScriptRequest | undefined,
    runner: documentIn(folder, 'evidence/runner.json', runner) as Runner | undefined,
    outcome: documentIn(folder, 'evidence/outcome.json', scriptOutcome) as ScriptOutcome | undefined,
    metadata: documentIn(folder, 'evidence/metadata.json', metadata) as Metadata | undefined,
    result: documentIn(folder, 'result.json', scriptResult) as ScriptResult | undefined,
  };
}

export function documentIn(folder: string, file: string, contract: Contract): unknown {
  const bytes = readRegular(path.join(folder, file), contract.bytesMax);
  return bytes && soundDocument(bytes, contract);
}

/** Parses a document; undefined if it violates its contract. */
export function soundDocument(bytes: Buffer, contract: Contract): unknown {
  const reading = readJson(bytes, { bytesMax: contract.bytesMax });
  return reading.ok && keepsContract(reading.value, contract) ? reading.value : undefined;
}

/** The keys of a JSON object in a file, not checked against any contract; empty if it cannot be read. */
export function looseKeys(file: string, bytesMax: number): Readonly<Record<string, unknown>> {
  const bytes = readRegular(file, bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax });
  return (reading?.ok ? (reading.value ?? {}) : {}) as Record<string, unknown>;
}

/** Whether a value has a shape. It may have further keys. */
export function hasShape(value: unknown, shape: Parameters<typeof formOf>[0]): boolean {
  for (const _ of formOf(shape).faults(value, '')) return false;
  return true;
}

export function keepsContract(value: unknown, contract: Contract): boolean {
  return check(contract, value, { strict: false, internal: false }).violations.length === 0;
}

export interface LogLine {
  readonly level: string;
  readonly code: string;
  readonly detail: string;
}

export function readLog(folder: string): LogLine[] {
  const text = readRegular(path.join(folder, 'evidence/internal/log.ndjson'), LOG_BYTES_MAX)?.toString() ?? '';
  return text.split('\n').flatMap(line => {
    const reading = readJson(Buffer.from(line), { bytesMax: LOG_BYTES_MAX });
    const { level, code, detail } = (reading.ok ? reading.value : {}) as Record<string, unknown>;
    return typeof level === 'string' && typeof code === 'string' && typeof detail === 'string'
      ? [{ level, code, detail }]
      : [];
  });
}

const LOG_BYTES_MAX = 16 * 1024 * 1024;

import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { runner } from '../contracts/runner/index.ts';
import { scriptOutcome } from '../contracts/script-outcome/index.ts';
import { scriptRequest } from '../contracts/script-request/index.ts';
import { scriptResult } from '../contracts/script-result/index.ts';
import type { Document } from './documents.ts';
import type { ScriptLine } from './script-run.ts';

/** Whether a line of a journal says what it must, as far as anything is done by it before documents are made of it. */
export function isScriptLine(line: unknown): line is ScriptLine {
  if (!isRecord(line)) return false;
  switch (line['is']) {
    case 'planned':
      return isPlan(line['plan']);
    case 'started':
      return isInstant(line['atMs']);
    case 'captured':
      return isInstant(line['atMs']) && isCapture(line['capture']);
    case 'read':
      return isInstant(line['atMs']) && isRecord(line['reading']);
    default:
      return false;
  }
}

/** Whether documents that were made of a journal keep their contracts, as those of every run do. */
export function areSound(documents: readonly Document[]): boolean {
  return documents.every(([file, bytes]) => {
    const contract = CONTRACTS.get(file);
    if (!contract) return true;
    return check(contract, JSON.parse(String(bytes)), { strict: false, internal: false }).violations.length === 0;
  });
}

const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['evidence/request.json', scriptRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', scriptOutcome],
  ['result.json', scriptResult],
]);

function isPlan(plan: unknown): boolean {
  if (!isRecord(plan) || !isRecord(plan['request']) || !isRecord(plan['owner'])) return false;
  const { pid, startTicks, bootId } = plan['owner'];
  return (
    typeof plan['request']['run_id'] === 'string' &&
    isInstant(plan['startedAtMs']) &&
    isCount(pid) &&
    isCount(startTicks) &&
    typeof bootId === 'string'
  );
}

function isCapture(capture: unknown): boolean {
  if (!isRecord(capture) || !isRecord(capture['ending']) || !Array.isArray(capture['phases'])) return false;
  return [capture['stdout'], capture['stderr']].every(
    note => isRecord(note) && isCount(note['bytesTotal']) && typeof note['sha256'] === 'string',
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** What a clock can show, which is less than what a number can. */
function isInstant(value: unknown): boolean {
  return isCount(value) && (value as number) <= 253_402_300_799_999;
}

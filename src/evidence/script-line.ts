import * as z from 'zod/mini';
import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { formOf } from '../contracts/form.ts';
import { runner } from '../contracts/runner/index.ts';
import { scriptOutcome } from '../contracts/script-outcome/index.ts';
import { scriptRequest } from '../contracts/script-request/index.ts';
import { scriptResult } from '../contracts/script-result/index.ts';
import { anyObject, count, record } from '../contracts/shape.ts';
import type { Document } from './documents.ts';
import type { ScriptLine } from './script-run.ts';

/** Whether a line of a journal holds what is used of it before the documents that it leads to are judged themselves. */
export function isScriptLine(line: unknown): line is ScriptLine {
  for (const _ of formOf(lineShape).faults(line, '')) return false;
  return true;
}

/** What a clock can show, which is less than what a number can. */
const instantMs = () => count().check(z.lte(253_402_300_799_999));

const noteShape = record({ bytesTotal: count(), sha256: z.string() });

const lineShape = z.union([
  record({
    is: z.literal('planned'),
    plan: record({
      request: record({ run_id: z.string() }),
      owner: record({ pid: count(), startTicks: count(), bootId: z.string() }),
      startedAtMs: instantMs(),
    }),
  }),
  record({ is: z.literal('started'), atMs: instantMs() }),
  record({
    is: z.literal('captured'),
    atMs: instantMs(),
    capture: record({ ending: anyObject(), phases: z.array(anyObject()), stdout: noteShape, stderr: noteShape }),
  }),
  record({ is: z.literal('read'), atMs: instantMs(), reading: anyObject() }),
]);

/** Whether documents that were made of a journal keep their contracts, as those of every run do. */
export function areSound(documents: readonly Document[], contracts: ReadonlyMap<string, Contract>): boolean {
  return documents.every(([file, bytes]) => {
    const contract = contracts.get(file);
    if (!contract) return true;
    return check(contract, JSON.parse(String(bytes)), { strict: false, internal: false }).violations.length === 0;
  });
}

/** Of the documents of a script's run. */
export const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['evidence/request.json', scriptRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', scriptOutcome],
  ['result.json', scriptResult],
]);

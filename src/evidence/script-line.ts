import * as z from 'zod/mini';
import type { Contract } from '../contracts/contract.ts';
import { runner } from '../contracts/runner/index.ts';
import { scriptOutcome } from '../contracts/script-outcome/index.ts';
import { scriptRequest } from '../contracts/script-request/index.ts';
import { scriptResult } from '../contracts/script-result/index.ts';
import { anyObject, count, record } from '../contracts/shape.ts';
import type { Document } from './documents.ts';
import { hasShape, keepsContract } from './read.ts';
import type { ScriptLine } from './script-run.ts';

/** Whether a journal line has the fields that are used before the resulting documents are validated. */
export function isScriptLine(line: unknown): line is ScriptLine {
  return hasShape(line, lineShape);
}

/** The latest time that an RFC 3339 timestamp can state. */
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

/** Whether documents built from a journal fulfil their contracts. */
export function areSound(documents: readonly Document[], contracts: ReadonlyMap<string, Contract>): boolean {
  return documents.every(([file, bytes]) => {
    const contract = contracts.get(file);
    if (!contract) return true;
    return keepsContract(JSON.parse(String(bytes)), contract);
  });
}

export const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['evidence/request.json', scriptRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', scriptOutcome],
  ['result.json', scriptResult],
]);

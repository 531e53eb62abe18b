/**
 * One changed byte in the report of a worker or in a pack is refused. CHANGED_BYTES raises the number of changes.
 * `tests/attack/flips.test.ts` does the same to run folders and to the parts of merged runs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { AttemptOutcome } from '../../src/queue/queue.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { verify } from '../../src/verify/index.ts';
import { changedQueue, queueWorld } from '../run/suite/queue-world.ts';
import { partFolders } from '../support/parts-world.ts';
import { randomFrom } from '../support/random.ts';
import { temporaryFolder } from '../support/support.ts';

const SEED = Number(process.env['PROCTOR_SEED'] ?? 20_261_118);
const CHANGES = Number(process.env['CHANGED_BYTES'] ?? 900);

/** The text with one printable character replaced by another. */
function changedText(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length);
  const old = text.charCodeAt(at);
  const other = 0x20 + ((old - 0x20 + 1 + Math.floor(random() * 94)) % 95);
  return text.slice(0, at) + String.fromCharCode(other) + text.slice(at + 1);
}

test('refuses every report of a worker in which one character changed', async () => {
  const random = randomFrom(SEED);
  const ids = Array.from({ length: CHANGES }, (_, at) => `case-${at}`);
  const { run, worker, queue, folder, agent } = await queueWorld({ ids });
  worker({ slots: 16 });
  const changes = new Map<string, string>();
  const forged = (key: string, outcome: AttemptOutcome): AttemptOutcome => {
    if (outcome.is !== 'reported') return outcome;
    const report = changes.get(key) ?? changedText(outcome.report, random);
    changes.set(key, report);
    return { ...outcome, report };
  };
  const lying = changedQueue(queue, {
    outcomes: async (keys, wait) =>
      new Map([...(await queue.outcomes(keys, wait))].map(([key, outcome]) => [key, forged(key, outcome)])),
  });
  await run({ queue: lying, lost: 'never', concurrency: 64, retries: 0 });
  expect(changes.size).toBe(CHANGES);
  expect(agent.seen).toHaveLength(CHANGES);
  const accepted = ids.filter(id => {
    const artifact = JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact;
    return artifact.runner_failure?.error_name !== 'OUTCOME_REFUSED';
  });
  expect(accepted.map(id => changes.get(`r1/${id}/1`))).toEqual([]);
});

/** Replaces one byte by another. */
function changeByte(bytes: Buffer, random: () => number): Buffer {
  const changed = Buffer.from(bytes);
  const at = Math.floor(random() * changed.length);
  changed[at] = ((changed[at] ?? 0) + 1 + Math.floor(random() * 255)) % 256;
  return changed;
}

async function isValid(file: string): Promise<boolean> {
  for await (const { outcome } of verify([file])) if (outcome !== 'valid') return false;
  return true;
}

test('refuses every pack in which one byte changed', async () => {
  const random = randomFrom(SEED);
  const [folder = ''] = await partFolders(4);
  const file = path.join(temporaryFolder(), 'run.proctor.tar');
  await packRun(folder, { out: file });
  expect(await isValid(file)).toBe(true);
  const bytes = readFileSync(file);
  const accepted: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    writeFileSync(file, changeByte(bytes, random));
    if (await isValid(file)) accepted.push(change);
  }
  expect(accepted).toEqual([]);
});

/**
 * One changed byte in the report of a worker, in a reply in the store, or in a pack is refused. CHANGED_BYTES raises the number of changes.
 * `tests/attack/flips.test.ts` does the same to run folders and to the parts of merged runs.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { AttemptOutcome } from '../../src/queue/queue.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { verify } from '../../src/verify/index.ts';
import { type answersWell, answerTo, json } from '../run/suite/agent.ts';
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

/** The files of a store. */
function blobsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
}

test('refuses every reply of which one byte changed in the store, and goes on with the others', async () => {
  const random = randomFrom(SEED);
  const ids = Array.from({ length: Math.ceil(CHANGES / 10) }, (_, at) => `case-${at}`);
  const large: typeof answersWell = (seen, response) =>
    json(
      response,
      answerTo(seen, { final_output: { content_type: 'text', content: `${seen.caseId} `.repeat(10_000) } }),
    );
  const behaviours = Object.fromEntries(ids.map(id => [id, large]));
  const { run, worker, queue, folder } = await queueWorld({ ids: [...ids, 'small'], behaviours });
  const store = temporaryFolder();
  worker({ slots: 8, store });
  const damaged = new Set<string>();
  const broken = changedQueue(queue, {
    outcomes: async (keys, wait) => {
      const outcomes = await queue.outcomes(keys, wait);
      for (const file of blobsIn(store).filter(one => !one.endsWith('.tmp') && !damaged.has(one))) {
        damaged.add(file);
        writeFileSync(file, changeByte(readFileSync(file), random));
      }
      return outcomes;
    },
  });
  await run({ queue: broken, store, lost: 'never', concurrency: 16, retries: 0 });
  expect(damaged.size).toBe(ids.length);
  const nameOf = (id: string): string | undefined =>
    (JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact).runner_failure?.error_name;
  expect(ids.map(nameOf)).toEqual(ids.map(() => 'OUTCOME_REFUSED'));
  expect(nameOf('small')).toBeUndefined();
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

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newKeyPair } from '../../src/base/ed25519.ts';
import type { MadeTwice } from '../../src/contracts/made-twice/index.ts';
import { verify } from '../../src/verify/index.ts';
import { answerTo, json } from '../run/suite/agent.ts';
import { queueWorld } from '../run/suite/queue-world.ts';
import { temporaryFolder } from '../support/support.ts';

const copies = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
afterAll(() => rmSync(copies, { recursive: true, force: true }));

let made: Promise<{ readonly sealed: string; readonly keys: readonly string[] }> | undefined;

/** A sealed run in which both attempts were made twice: `a` is answered the same, and `b` differs in text. */
function sealedRun() {
  made ??= (async () => {
    const { run, worker, folder } = await queueWorld({
      ids: ['a', 'b'],
      behaviours: {
        b: (seen, response, times) =>
          json(response, answerTo(seen, { final_output: { content_type: 'text', content: `Answer ${times}` } })),
      },
    });
    const workers = [worker({ name: 'w1' }), worker({ name: 'w2' })];
    await run({ twice: 1 });
    const sealed = path.join(copies, 'run');
    cpSync(folder, sealed, { recursive: true });
    return { sealed, keys: workers.map(({ keyFile }) => readFileSync(keyFile, 'utf8')) };
  })();
  return made;
}

/** The rules about outcomes that a copy breaks after a change. The seal reports every change as well. */
async function broken(change: (folder: string) => void, keys?: readonly string[]): Promise<string[]> {
  const { sealed } = await sealedRun();
  const folder = path.join(temporaryFolder(), 'run');
  cpSync(sealed, folder, { recursive: true });
  change(folder);
  const found: string[] = [];
  for await (const { violations } of verify([folder], keys === undefined ? {} : { key: keys }))
    found.push(
      ...violations
        .filter(({ rule_id }) => /^(?:WO|TW)/.test(rule_id))
        .map(({ rule_id, path: at }) => `${rule_id} ${at}`),
    );
  return found.sort();
}

const TWICE = 'evidence/twice.json';
const REPLY = 'assets/b.1.again-1.reply';

function edit(file: string, change: (text: string) => string): (folder: string) => void {
  return folder => writeFileSync(path.join(folder, file), change(readFileSync(path.join(folder, file), 'utf8')));
}

type Case = MadeTwice['cases'][number];

/** Changes the document, with counts that follow from its cases unless `change` sets them. */
const editTwice = (change: (document: MadeTwice) => object) =>
  edit(TWICE, text => JSON.stringify(change(JSON.parse(text) as MadeTwice)));

const editCase = (index: number, change: (one: Case) => object) =>
  editTwice(document => ({
    ...document,
    cases: document.cases.map((one, at) => (at === index ? { ...one, ...change(one) } : one)),
  }));

describe('attempts made twice', () => {
  test('agree with the outcomes, the replies and the keys', async () => {
    expect(await broken(() => undefined)).toEqual([]);
    expect(await broken(() => undefined, (await sealedRun()).keys)).toEqual([]);
  });

  test('need both keys to be trusted', async () => {
    const { keys } = await sealedRun();
    expect(await broken(() => undefined, keys.slice(0, 1))).toHaveLength(2);
  });

  test('are named in the verdict on the folder', async () => {
    const { sealed } = await sealedRun();
    const notes: string[] = [];
    for await (const verdict of verify([sealed])) notes.push(...(verdict.notes ?? []));
    expect(notes[0]).toBe('2 of 2 attempts were made twice; 1 differs: b (text).');
  });

  test('must be stated if the request asks for them, and only then', async () => {
    expect(await broken(folder => rmSync(path.join(folder, TWICE)))).toEqual([
      'WO8 assets/outcomes.ndjson:2#payload',
      'WO8 assets/outcomes.ndjson:4#payload',
      'WO8 evidence/request.json#twice',
    ]);
    expect(await broken(edit('evidence/request.json', text => text.replace(/,"twice":\{[^}]*\}/, '')))).toContain(
      `WO8 ${TWICE}#share`,
    );
  });

  test('are those that share and salt select', async () => {
    const salt = (text: string) => text.replace(/"salt":"[0-9a-f]{64}"/, `"salt":"${'0'.repeat(64)}"`);
    expect(
      await broken(edit('evidence/request.json', text => salt(text).replace('"share":1', '"share":0.01'))),
    ).toEqual([`WO8 ${TWICE}#share`]);
    const none = editTwice(document => ({ ...document, chosen: 1, made: 1, cases: document.cases.slice(0, 1) }));
    expect(await broken(none)).toContain('TW2 differing');
    const hidden = editTwice(document => ({
      ...document,
      chosen: 1,
      made: 1,
      differing: 0,
      differ: { outcome: 0, verdict: 0, text: 0 },
      cases: document.cases.slice(0, 1),
    }));
    expect(await broken(hidden)).toContain(`WO8 ${TWICE}#cases`);
  });

  test('cannot hide a difference', async () => {
    const same = editTwice(document => ({
      ...document,
      differing: 0,
      differ: { outcome: 0, verdict: 0, text: 0 },
      cases: document.cases.map(one => ({ ...one, differs: [] })),
    }));
    expect(await broken(same)).toEqual([`WO8 ${TWICE}#cases[1].differs`]);
  });

  test('cannot make up a difference', async () => {
    const differs = editTwice(document => ({
      ...document,
      differing: 2,
      differ: { outcome: 0, verdict: 0, text: 2 },
      cases: document.cases.map(one => ({ ...one, differs: ['text'] })),
    }));
    expect(await broken(differs)).toEqual([`WO8 ${TWICE}#cases[0].differs`]);
    const verdict = editTwice(document => ({
      ...document,
      differing: 2,
      differ: { outcome: 0, verdict: 1, text: 1 },
      cases: document.cases.map((one, index) =>
        index > 0
          ? one
          : {
              ...one,
              first: { ...one.first, verdict: 'pass' },
              second: { ...one.second, verdict: 'fail' },
              differs: ['verdict'],
            },
      ),
    }));
    expect(await broken(verdict)).toEqual([`WO8 ${TWICE}#cases[0].differs`]);
  });

  test('name the key that signed', async () => {
    const { publicPem, keyId } = newKeyPair();
    const other = editCase(0, ({ second }) => ({ second: { ...second, public_key: publicPem, key_id: keyId } }));
    expect(await broken(other)).toEqual([`WO8 ${TWICE}#cases[0].second.public_key`]);
    const swapped = editCase(0, ({ first, second }) => ({
      first,
      second: { ...second, key_id: first?.key_id, public_key: first?.public_key },
    }));
    expect((await broken(swapped))[0]).toMatch(/^TW3/);
    const claimed = editCase(0, ({ second }) => ({ second: { ...second, key_id: keyId } }));
    expect((await broken(claimed))[0]).toMatch(/^TW3/);
  });

  test('name the attempt that ended the case, and its second outcome', async () => {
    const worker = editCase(0, ({ second }) => ({ second: { ...second, worker: 'w9' } }));
    expect(await broken(worker)).toEqual([`WO8 ${TWICE}#cases[0].second.worker`]);
    const again = editCase(0, ({ second }) => ({ second: { ...second, again: 2 } }));
    expect(await broken(again)).toEqual([`WO8 ${TWICE}#cases[0].second`]);
    const number = editCase(0, () => ({ attempt: 2 }));
    expect(await broken(number)).toContain(`WO8 ${TWICE}#cases[0].first`);
    const exchanged = editTwice(document => ({
      ...document,
      cases: document.cases.map((one, index) => ({ ...one, second: document.cases[1 - index]?.second })),
    }));
    expect(await broken(exchanged)).toContain(`WO8 ${TWICE}#cases[0].second`);
  });

  test('have the second reply as it was signed', async () => {
    expect(await broken(edit(REPLY, text => text.replace('Answer', 'answer')))).toEqual([
      `WO8 ${TWICE}#cases[1].second.reply`,
    ]);
    const left = editCase(1, ({ second }) => ({ second: { ...second, reply: null } }));
    expect(await broken(left)).toEqual([`WO8 ${TWICE}#cases[1].second.reply`]);
  });

  test('have every second outcome, once', async () => {
    const OUTCOMES = 'assets/outcomes.ndjson';
    const drop = edit(OUTCOMES, text => `${text.trimEnd().split('\n').slice(0, 3).join('\n')}\n`);
    expect(await broken(drop)).toEqual([expect.stringMatching(/^WO8 .*second\.outcome_sha256$/)]);
    expect(await broken(edit(OUTCOMES, text => text + (text.split('\n')[1] ?? '') + '\n'))).toEqual([
      `WO6 ${OUTCOMES}:5`,
    ]);
  });

  test('do not survive a change of a single byte', async () => {
    const { sealed } = await sealedRun();
    const text = readFileSync(path.join(sealed, TWICE));
    for (let at = 11; at < text.length; at += 131) {
      const folder = path.join(temporaryFolder(), 'run');
      cpSync(sealed, folder, { recursive: true });
      const changed = Buffer.from(text);
      changed[at] = (changed[at] ?? 0) ^ 1;
      writeFileSync(path.join(folder, TWICE), changed);
      const outcomes: string[] = [];
      for await (const { outcome } of verify([folder])) outcomes.push(outcome);
      expect(
        outcomes.some(outcome => outcome !== 'valid'),
        `byte ${at}`,
      ).toBe(true);
    }
  });
});

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import type { LedgerIntent } from '../../../src/contracts/ledger/index.ts';
import { type RunResult, runResult } from '../../../src/contracts/run-result/index.ts';
import { finish } from '../../../src/evidence/run-folder/finish.ts';
import { appendLines, REPAIRS } from '../../../src/evidence/ledger/ledger.ts';
import { sealedEntry } from '../../../src/evidence/recovery/sealed-entry.ts';
import { storedFiles } from '../../../src/evidence/run-folder/sealed-files.ts';
import { fifo, isRoot, mountMemory } from '../ingest/world.ts';
import {
  addRun,
  append,
  brokenIn,
  entryOf,
  idsIn,
  ledgerIn,
  linesIn,
  newHome,
  runId,
  textIn,
  writer,
} from './ledger-world.ts';

describe('a ledger', () => {
  test('has a numbered line for each run, chained by the hash of the previous line', async () => {
    const home = newHome();
    for (const id of ['a', 'b', 'c'])
      expect(await append(home, [entryOf(id)])).toEqual({ added: [id], isRepaired: false });
    const [first, second, third] = textIn(home).split('\n');
    expect(linesIn(home).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(linesIn(home).map(({ previous_sha256 }) => previous_sha256)).toEqual([
      null,
      bytesHash(`${first}\n`),
      bytesHash(`${second}\n`),
    ]);
    expect(third).toBe(
      `{"intent":null,"kind":"script","previous_sha256":"${bytesHash(`${second}\n`)}","run_id":"c",` +
        `"schema_version":"ledger-line.v1","seal_sha256":"${bytesHash('c')}","sealed_at":"2026-04-03T00:00:00.000Z","sequence":3}`,
    );
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
  });

  test('accepts many lines at once, and skips runs that already have one', async () => {
    const home = newHome();
    await append(home, [entryOf('a'), entryOf('b')]);
    expect((await append(home, [entryOf('b'), entryOf('c')])).added).toEqual(['c']);
    expect((await append(home, [entryOf('a'), entryOf('b'), entryOf('c')], 'all of it')).added).toEqual([]);
    expect(idsIn(home)).toEqual(['a', 'b', 'c']);
  });

  test('does not repeat an old run if the whole ledger is searched', async () => {
    const home = newHome();
    const many = Array.from({ length: 1_000 }, (_, index) => entryOf(`r${index}`));
    await append(home, many);
    expect((await append(home, [entryOf('r0'), entryOf('new')], 'all of it')).added).toEqual(['new']);
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
  });

  test('is appended to by reading only its end, however long it is', async () => {
    const home = newHome();
    await append(home, [entryOf('a')]);
    const line = textIn(home);
    truncateSync(ledgerIn(home), 8 * 1024 ** 3);
    appendFileSync(ledgerIn(home), `\n${line}`);
    expect((await append(home, [entryOf('b')])).added).toEqual(['b']);
    expect(statSync(ledgerIn(home)).size).toBeGreaterThan(8 * 1024 ** 3 + line.length);
  });

  test('is not created if there is nothing to write', async () => {
    const home = newHome();
    expect(await append(home, [])).toEqual({ added: [], isRepaired: false });
    expect(existsSync(ledgerIn(home))).toBe(false);
  });

  test('waits for another writer', async () => {
    const home = newHome();
    let asked = 0;
    const hold = async () => (++asked < 4 ? undefined : { close: () => asked++ });
    await appendLines(home, [entryOf('a')], hold);
    expect(asked).toBe(5);
  });
});

describe('an incomplete last line', () => {
  test.each([1, 50, 200])('is cut off after %s bytes and recorded', async length => {
    const home = newHome();
    await append(home, [entryOf('a'), entryOf('b')]);
    const whole = textIn(home);
    appendFileSync(ledgerIn(home), whole.slice(0, length));
    expect(await brokenIn(ledgerIn(home))).toEqual([expect.stringMatching(/^LD1 :3/)]);
    expect(await append(home, [entryOf('c')])).toEqual({ added: ['c'], isRepaired: true });
    expect(textIn(home).startsWith(whole)).toBe(true);
    expect(idsIn(home)).toEqual(['a', 'b', 'c']);
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
    const note = JSON.parse(readFileSync(path.join(home, REPAIRS), 'utf8')) as Record<string, unknown>;
    expect(note).toMatchObject({ after_sequence: 2, cut_bytes: length });
    expect(Buffer.from(note['cut_base64'] as string, 'base64').toString()).toBe(whole.slice(0, length));
  });

  test('may be the first line', async () => {
    const home = newHome();
    writeFileSync(ledgerIn(home), '{"intent":nu');
    await append(home, [entryOf('a')]);
    expect(linesIn(home)).toMatchObject([{ sequence: 1, run_id: 'a' }]);
  });

  test('stays if the repair cannot be recorded in a regular file', async () => {
    for (const make of [(file: string) => symlinkSync('/dev/null', file), fifo]) {
      const home = newHome();
      await append(home, [entryOf('a')]);
      appendFileSync(ledgerIn(home), '{"int');
      make(path.join(home, REPAIRS));
      const before = textIn(home);
      await expect(append(home, [entryOf('b')])).rejects.toMatchObject({ name: 'Fault' });
      expect(textIn(home)).toBe(before);
    }
  });

  test('is cut off even if there is nothing else to write', async () => {
    const home = newHome();
    await append(home, [entryOf('a')]);
    appendFileSync(ledgerIn(home), '{"int');
    expect(await append(home, [])).toEqual({ added: [], isRepaired: true });
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
  });
});

describe('refuses to append', () => {
  test.each([
    ['a line of another kind', '{"schema_version":"event.v1"}\n'],
    ['a line that is not JSON', 'hello\n'],
    ['an empty line', '\n'],
    ['a line that is too long', `"${'x'.repeat(10_000)}"\n`],
    ['an endless line', 'x'.repeat(100_000)],
  ])('after %s', async (_, end) => {
    const home = newHome();
    await append(home, [entryOf('a')]);
    appendFileSync(ledgerIn(home), end);
    const before = textIn(home);
    await expect(append(home, [entryOf('b')])).rejects.toMatchObject({ name: 'Fault', code: 'ledger_broken' });
    expect(textIn(home)).toBe(before);
  });

  test('through a link, to a FIFO or to a folder', async () => {
    for (const [index, make] of [
      (file: string) => symlinkSync('/dev/null', file),
      fifo,
      (file: string) => mkdirSync(file),
    ].entries()) {
      const home = newHome();
      make(ledgerIn(home));
      await expect(append(home, [entryOf('a')]), String(index)).rejects.toMatchObject({ name: 'Fault' });
    }
  });

  test('part of a line on a full disk', async context => {
    context.skip(!isRoot, 'only root can mount a small disk');
    const home = newHome();
    mountMemory(home, 'size=32k,mode=755');
    let count = 0;
    const more = () => append(home, [entryOf(`r${count}`)]).then(() => count++);
    writeFileSync(path.join(home, 'filler'), Buffer.alloc(16 * 1024));
    await expect(
      (async () => {
        for (;;) await more();
      })(),
    ).rejects.toMatchObject({ code: 'ledger_failed', message: 'The ledger could not be written.' });
    expect(count).toBeGreaterThan(10);
    expect(linesIn(home)).toHaveLength(count);
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
    truncateSync(path.join(home, 'filler'), 0);
    await more();
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
  });
});

test('concurrent writers lose no line and duplicate none', async () => {
  const home = newHome();
  const start = await writer();
  const writers = Array.from({ length: 8 }, (_, index) => start(home, `w${index}`, 20));
  expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual(writers.map(() => 0));
  const said = writers.flatMap(each => each.said);
  expect(said).toHaveLength(160);
  expect(idsIn(home).sort()).toEqual(said.sort());
  expect(await brokenIn(ledgerIn(home))).toEqual([]);
});

describe('a sealed run', () => {
  test('has a ledger line with the hash of its seal', async () => {
    const home = newHome();
    const folder = await addRun(home, 0);
    const seal = readFileSync(path.join(folder, 'evidence', 'seal.json'));
    expect(linesIn(home)).toMatchObject([
      { run_id: runId(0), kind: 'script', seal_sha256: bytesHash(seal), intent: null },
    ]);
  });

  test('of an intent has its result in the ledger, and its folder restores it if the line is lost', async () => {
    const home = newHome();
    const folder = path.join(home, 'runs', 'intent', 'intent_20260403_101500_4f1c9a7be210');
    mkdirSync(path.join(folder, 'evidence'), { recursive: true });
    const { intent: asked, bundle, kernel_result_kind, decision, policy } = runResult.example as RunResult;
    const intent: LedgerIntent = {
      intent_sha256: asked.sha256,
      bundle_sha256: bundle?.sha256 ?? null,
      result_kind: kernel_result_kind,
      accepted: decision.accepted,
      mode: 'plan-only',
      policy: policy.name,
    };
    await finish(folder, {
      runId: path.basename(folder),
      kind: 'intent',
      signer: undefined,
      documents: [
        ['run.json', canonicalize(runResult.example)],
        ['evidence/request.json', '{"mode":"plan-only"}'],
      ],
      stored: storedFiles([]),
      passing: [],
      sealedAtMs: 0,
      ledger: { enter: async entry => void (await append(home, [entry])) },
    });
    const [line] = linesIn(home);
    expect(line).toMatchObject({ kind: 'intent', intent });
    expect(line).toMatchObject(sealedEntry(folder) ?? {});
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
    writeFileSync(ledgerIn(home), textIn(home).replace('plan-only', 'execute-sandbox'));
    expect(await brokenIn(ledgerIn(home))).toEqual(['LD8 ledger.ndjson:1#intent']);
  });
});

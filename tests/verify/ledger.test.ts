import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import type { LedgerLine } from '../../src/contracts/ledger/index.ts';
import { openSeal, sealEnvelope } from '../../src/contracts/seal/index.ts';
import { SEAL } from '../../src/evidence/run-folder/finish.ts';
import { verify } from '../../src/verify/index.ts';
import {
  addRun,
  append,
  brokenIn,
  entryOf,
  homeWithRuns,
  ledgerIn,
  linesIn,
  newHome,
  runId,
  textIn,
  writeLines,
} from '../evidence/ledger/ledger-world.ts';
import { proctor } from '../support/support.ts';

const linesOf = (home: string): string[] => textIn(home).split('\n').slice(0, -1);

/** Rewrites the lines of a ledger as a forger would: changed, numbered and chained. */
function chained(lines: readonly LedgerLine[], change: Partial<LedgerLine> = {}): string[] {
  let previous: string | null = null;
  return lines.map((line, index) => {
    const text: string = canonicalize(
      Object.assign({}, line, change, { sequence: index + 1, previous_sha256: previous }),
    );
    previous = bytesHash(`${text}\n`);
    return text;
  });
}

/** Seals a run again, as someone who changed it would. */
function sealAnew(folder: string): void {
  const file = path.join(folder, SEAL);
  const opened = openSeal(JSON.parse(readFileSync(file, 'utf8')));
  if (!opened.ok) throw new Error(opened.message);
  const { subject } = opened.statement;
  writeFileSync(path.join(folder, 'evidence', 'final-state.txt'), 'all is well\n');
  for (const one of subject) {
    if (one.name !== 'evidence/final-state.txt') continue;
    one.digest.sha256 = bytesHash('all is well\n').slice('sha256:'.length);
    one.annotations.size_bytes = 12;
  }
  writeFileSync(file, canonicalize(sealEnvelope(opened.statement)));
}

describe('an intact ledger', () => {
  test('is valid, and so are its home and its runs', async () => {
    const home = await homeWithRuns(3);
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
    expect(await brokenIn(home)).toEqual([]);
    expect(await brokenIn(path.join(home, 'runs', 'script', runId(1)))).toEqual([]);
  });

  test('is valid if runs were pruned, are not finished, or predate it', async () => {
    const home = await homeWithRuns(3);
    rmSync(path.join(home, 'runs', 'script', runId(1)), { recursive: true });
    const open = await addRun(home, 3, 'no line');
    writeFileSync(path.join(open, 'journal.ndjson'), '');
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
    rmSync(path.join(open, 'journal.ndjson'));
    writeLines(home, chained(linesIn(home), { sealed_at: '2030-01-01T00:00:00.000Z' }));
    const advice = [];
    for await (const verdict of verify(ledgerIn(home))) {
      if (!verdict.within) advice.push(...verdict.advice.map(({ rule_id, path: at }) => `${rule_id} ${at}`));
    }
    expect(advice).toEqual([`LD9 runs/script/${runId(3)}`]);
  });

  test('is valid with advice if clocks were set back', async () => {
    const home = newHome();
    await append(home, [entryOf('a', 1_000), entryOf('b', 0), entryOf('c', 1_000)]);
    const told = [];
    for await (const { outcome, advice } of verify(ledgerIn(home))) {
      told.push([outcome, ...advice.map(({ rule_id }) => rule_id)]);
    }
    expect(told).toEqual([['valid'], ['valid', 'LD2'], ['valid'], ['valid']]);
  });
});

describe('the verifier reports the number of', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];

  const broken = async (change: (lines: string[]) => readonly string[]): Promise<string[]> => {
    const here = newHome();
    await append(
      here,
      names.map((name, index) => entryOf(name, index)),
    );
    writeLines(here, change(linesOf(here)));
    return brokenIn(ledgerIn(here));
  };

  test('a removed line', async () => {
    expect(await broken(lines => lines.toSpliced(2, 1))).toEqual(['LD5 :3 sequence', 'LD6 :3 previous_sha256']);
    expect(await broken(lines => lines.slice(1))).toEqual(['LD5 :1 sequence']);
  });

  test('a changed line', async () => {
    const other = (line = ''): string => line.replace('2026', '2025');
    expect(await broken(lines => lines.with(2, other(lines[2])))).toEqual(['LD6 :4 previous_sha256']);
  });

  test('two swapped lines', async () => {
    const swapped = await broken(([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest]);
    expect(swapped.filter(line => line.startsWith('LD6'))).toEqual([2, 3, 4].map(at => `LD6 :${at} previous_sha256`));
  });

  test('a duplicated line', async () => {
    expect(await broken(lines => lines.toSpliced(2, 0, lines[1] ?? ''))).toEqual([
      'LD3 :3 run_id',
      'LD5 :3 sequence',
      'LD6 :3 previous_sha256',
    ]);
  });

  test.each([
    ['not JSON', 'hello'],
    ['empty', ''],
    ['of another format', '{"schema_version":"event.v1"}'],
    ['of an unknown version', '{"schema_version":"ledger-line.v9"}'],
    ['too long', `"${'x'.repeat(5_000)}"`],
  ])('a line that is %s', async (_, line) => {
    expect((await broken(lines => lines.with(2, line))).slice(0, 2)).toEqual(['LD1 :3', 'LD6 :4 previous_sha256']);
    expect((await broken(lines => lines.with(0, line)))[0]).toBe('LD1 :1');
  });

  test('a line that is not canonical, even the last one', async () => {
    expect(await broken(lines => lines.with(4, `${lines[4]} `))).toEqual(['LD1 :5']);
  });
});

describe('the verifier detects from the runs next to a ledger', () => {
  test('a run that was swapped with another, although both are intact', async () => {
    const home = await homeWithRuns(2);
    const [first, second] = [0, 1].map(index => path.join(home, 'runs', 'script', runId(index))) as [string, string];
    renameSync(first, `${first}.x`);
    renameSync(second, first);
    renameSync(`${first}.x`, second);
    const places = [0, 1].map(index => `LD8 runs/script/${runId(index)}`);
    expect((await brokenIn(home)).toSorted()).toEqual(places);
    expect(await brokenIn(first)).toEqual(['LD8 evidence/seal.json']);
  });

  test('a run that was sealed again, even if a journal was added', async () => {
    const home = await homeWithRuns(2);
    const folder = path.join(home, 'runs', 'script', runId(1));
    sealAnew(folder);
    writeFileSync(path.join(folder, 'journal.ndjson'), '');
    expect(await brokenIn(ledgerIn(home))).toEqual(['LD8 ledger.ndjson:2#seal_sha256']);
  });

  test('a run that was sealed again, by verifying either the run or the ledger', async () => {
    const home = await homeWithRuns(3);
    const folder = path.join(home, 'runs', 'script', runId(1));
    sealAnew(folder);
    expect(await brokenIn(ledgerIn(home))).toEqual(['LD8 ledger.ndjson:2#seal_sha256']);
    expect(await brokenIn(home)).toEqual(['LD8 ledger.ndjson:2#seal_sha256']);
    expect(await brokenIn(folder)).toEqual(['LD8 evidence/seal.json']);
    expect(await brokenIn(path.join(home, 'runs', 'script', runId(0)))).toEqual([]);
  });

  test('a truncated ledger', async () => {
    const home = await homeWithRuns(3);
    writeLines(home, linesOf(home).slice(0, 1));
    const missing = [1, 2].map(number => `LD9 runs/script/${runId(number)}`);
    expect(await brokenIn(ledgerIn(home))).toEqual(missing);
    expect(await brokenIn(home)).toEqual(missing);
  });

  test('a rewritten ledger without a run, or with another seal', async () => {
    const home = await homeWithRuns(3);
    const lines = linesIn(home);
    writeLines(home, chained(lines.toSpliced(1, 1)));
    expect(await brokenIn(ledgerIn(home))).toEqual([`LD9 runs/script/${runId(1)}`]);
    writeLines(home, chained(lines, { kind: 'suite', seal_sha256: bytesHash('') }));
    expect((await brokenIn(ledgerIn(home))).sort()).toEqual(
      [1, 2, 3].flatMap(at => ['kind', 'seal_sha256'].map(key => `LD8 ledger.ndjson:${at}#${key}`)).sort(),
    );
  });

  test('any change to a line, and any changed byte', async () => {
    const home = await homeWithRuns(3);
    const whole = readFileSync(ledgerIn(home));
    const lines = linesOf(home);
    const at = fc.nat({ max: lines.length - 1 });
    const rewritten = (changed: readonly string[]): Buffer => Buffer.from(changed.map(line => `${line}\n`).join(''));
    const changes = fc.oneof(
      at.map(index => rewritten(lines.toSpliced(index, 1))),
      fc.tuple(at, at).map(([from, to]) => rewritten(lines.toSpliced(to, 0, lines[from] as string))),
      fc
        .tuple(at, at)
        .filter(([a, b]) => a !== b)
        .map(([a, b]) => rewritten(lines.with(a, lines[b] as string).with(b, lines[a] as string))),
      fc.tuple(fc.nat({ max: whole.length - 1 }), fc.integer({ min: 1, max: 255 })).map(([index, mask]) => {
        const bytes = Buffer.from(whole);
        bytes[index] = (bytes[index] as number) ^ mask;
        return bytes;
      }),
      fc.nat({ max: whole.length - 1 }).map(length => whole.subarray(0, length)),
    );
    await fc.assert(
      fc.asyncProperty(changes, async bytes => {
        writeFileSync(ledgerIn(home), bytes);
        const broken = await brokenIn(ledgerIn(home));
        expect(broken).not.toEqual([]);
        if (bytes.length > 0) expect(broken.filter(line => !line.startsWith('LD'))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('a ledger without its runs', () => {
  test('is judged by its chain, and says what the chain cannot prove', async () => {
    const home = await homeWithRuns(2);
    const copy = newHome();
    cpSync(ledgerIn(home), path.join(copy, 'copy.ndjson'));
    expect(await brokenIn(path.join(copy, 'copy.ndjson'))).toEqual([]);
    writeFileSync(path.join(copy, 'copy.ndjson'), `${linesOf(home)[1]}\n`);
    expect(await brokenIn(path.join(copy, 'copy.ndjson'))).toEqual(['LD5 :1 sequence']);
    const { stdout, code } = proctor(['verify', ledgerIn(home)]);
    expect({ stdout, code }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/lines were removed from the end/),
    });
  });

  test('may come through a pipe', () => {
    const line = (sequence: number, previous: string | null): string =>
      canonicalize({
        ...entryOf(`r${sequence}`),
        schema_version: 'ledger-line.v1',
        sequence,
        previous_sha256: previous,
      });
    const first = `${line(1, null)}\n`;
    const good = `${first}${line(2, bytesHash(first))}\n`;
    expect(proctor(['verify', '--ndjson', '-'], { input: good }).code).toBe(0);
    const { code, stdout } = proctor(['verify', '--ndjson', '-'], { input: good.replace('r1', 'r3') });
    expect(code).toBe(3);
    expect(stdout).toMatch(/LD6/);
  });
});

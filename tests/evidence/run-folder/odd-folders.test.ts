/** Folders that no Proctor run leaves. A recovery must not change them, follow links or block. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { JOURNAL } from '../../../src/evidence/run-folder/journal.ts';
import { hasJournal, openRun, recoverRun } from '../../../src/evidence/recovery/recover.ts';
import { KINDS } from '../../../src/run/kinds.ts';
import type { ScriptLine } from '../../../src/evidence/script/script-run.ts';
import { proveJournal, temporaryFolder } from '../../support/support.ts';
import { captureOf, COMPLETED_AT, noteOf, plan, put, STARTED_AT, succeeded } from '../script/script-world.ts';

const NOW = COMPLETED_AT + 60_000;
const ID = plan().request.run_id;
const LINES: ScriptLine[] = [
  { is: 'planned', plan: plan() },
  { is: 'started', atMs: STARTED_AT + 100 },
  { is: 'captured', atMs: STARTED_AT + 4_100, capture: noteOf(captureOf({ how: 'exited', code: 0 })) },
  { is: 'read', atMs: COMPLETED_AT, reading: succeeded() },
];
const journalOf = (lines: readonly unknown[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('');

function runFolder(lines: readonly unknown[] = LINES, name = ID): string {
  const folder = path.join(temporaryFolder(), name);
  put(folder, JOURNAL, journalOf(lines));
  proveJournal(folder);
  return folder;
}

const fifo = (file: string): void => {
  mkdirSync(path.dirname(file), { recursive: true });
  execFileSync('mkfifo', [file]);
};

/** Every entry and every byte. */
const insideOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true }).map(entry => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(folder, file), entry.isFile() ? readFileSync(file, 'latin1') : ''];
    }),
  );

describe('a run folder', () => {
  const rows: [string, (folder: string) => void][] = [
    ['a pipe in place of a kept stream', folder => fifo(path.join(folder, 'evidence/internal/stdout.part'))],
    ['a pipe in place of a stored stream', folder => fifo(path.join(folder, 'evidence/steps/script/stderr.txt'))],
    ['a pipe in its output', folder => fifo(path.join(folder, 'output/a/b'))],
    [
      'a link in place of a document',
      folder => {
        mkdirSync(path.join(folder, 'evidence'));
        symlinkSync('/etc/passwd', path.join(folder, 'evidence', 'runner.json.tmp'));
      },
    ],
  ];

  test.each(rows)('with %s is refused and not changed', async (_, spoil) => {
    const folder = runFolder();
    put(folder, 'output.partial/a', 'mine');
    spoil(folder);
    const before = insideOf(folder);
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({
      name: 'Fault',
      code: 'odd_folder',
    });
    expect(insideOf(folder)).toEqual(before);
  });

  test('with a link to another folder is refused, and the link is not followed', async () => {
    const outside = temporaryFolder();
    put(outside, 'internal/stdout.part', 'secret');
    put(outside, 'draft.tmp', 'precious');
    const folder = runFolder();
    symlinkSync(outside, path.join(folder, 'evidence'));
    const before = insideOf(outside);
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({ code: 'odd_folder' });
    expect(insideOf(outside)).toEqual(before);
  });

  test('keeps every file if a file takes the place of a folder', async () => {
    const folder = runFolder();
    put(folder, 'evidence', 'mine');
    put(folder, 'output/a.txt', 'mine');
    expect(openRun(folder).isSealed).toBe(false);
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({ name: 'Fault' });
    expect(readFileSync(path.join(folder, 'evidence'), 'utf8')).toBe('mine');
    expect(hasJournal(folder)).toBe(true);
  });

  test('nested deeper than any run is refused', async () => {
    const folder = runFolder();
    mkdirSync(path.join(folder, ...Array.from({ length: 150 }, () => 'd')), { recursive: true });
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({ code: 'odd_folder' });
  });
});

describe('a journal', () => {
  const rows: [string, (file: string) => void][] = [
    ['that another user owns', file => chownSync(file, 65_533, 65_533)],
    ['that its group can write to', file => chmodSync(file, 0o660)],
    ['that everyone can write to', file => chmodSync(file, 0o646)],
  ];

  test.each(rows)('%s is not trusted', async (_, spoil) => {
    const folder = runFolder();
    put(folder, 'output/a.txt', 'mine');
    spoil(path.join(folder, JOURNAL));
    expect(() => openRun(folder)).toThrow(expect.objectContaining({ code: 'foreign_journal' }));
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({ code: 'foreign_journal' });
    expect(Object.keys(insideOf(folder)).sort()).toEqual([JOURNAL, 'output', 'output/a.txt']);
  });

  test('that is a link or a pipe is found but not read', async () => {
    const real = runFolder();
    const folder = path.join(temporaryFolder(), ID);
    mkdirSync(folder);
    symlinkSync(path.join(real, JOURNAL), path.join(folder, JOURNAL));
    const other = path.join(temporaryFolder(), ID);
    fifo(path.join(other, JOURNAL));
    for (const each of [folder, other]) {
      expect(hasJournal(each)).toBe(true);
      expect(() => openRun(each)).toThrow(expect.objectContaining({ code: 'foreign_journal' }));
      await expect(recoverRun(each, KINDS, { nowMs: NOW })).rejects.toMatchObject({ name: 'Fault' });
    }
    expect(hasJournal(real)).toBe(true);
  });
});

describe('a malformed journal', () => {
  const { owner, request } = plan();
  const plans: [string, unknown][] = [
    ['nothing', {}],
    ['only an owner', { owner }],
    ['an owner and a name', { owner, request: { run_id: ID }, startedAtMs: STARTED_AT }],
    ['an invalid request', { ...plan(), request: { run_id: ID, kind: 'script' } }],
    ['no limits', { ...plan(), runner: {} }],
    ['an impossible time', { ...plan(), startedAtMs: 1e18 }],
    ['an invalid pid', { ...plan(), owner: { ...owner, pid: -1 } }],
    ['an unknown enforcement', { ...plan(), enforcement: { memory: 'prayer' }, request }],
  ];

  test.each(plans)('with %s in its plan is refused, and no file is lost', async (_, odd) => {
    const folder = runFolder([{ is: 'planned', plan: odd }]);
    put(folder, 'output/a.txt', 'mine');
    put(folder, 'notes.tmp', 'mine');
    const before = insideOf(folder);
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({
      name: 'Fault',
      code: expect.stringMatching(/^odd_(?:journal|folder)$/),
    });
    expect(insideOf(folder)).toEqual(before);
  });

  test.each([
    ['captured', { is: 'captured', atMs: STARTED_AT, capture: { ending: { how: 'exited', code: 0 } } }],
    ['read', { is: 'read', atMs: 'soon', reading: {} }],
    ['fields of older versions', { is: 'opened', leftovers: { processes: [{ pid: process.pid }] } }],
  ])('with an invalid line is read as if the line were missing: %s', async (_, odd) => {
    const folder = runFolder([...LINES.slice(0, 2), odd]);
    expect(await recoverRun(folder, KINDS, { nowMs: NOW })).toBe('recovered');
    const outcome: unknown = JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8'));
    expect(outcome).toMatchObject({ reason: 'interrupted', ending: { how: 'lost' } });
  });

  test('with an invalid reading of the result is not recovered, because the rest may be invalid too', async () => {
    const folder = runFolder([...LINES.slice(0, 3), { is: 'read', atMs: COMPLETED_AT, reading: { status: 'fine' } }]);
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({ code: 'odd_journal' });
  });
});

/** Only the process that created the folder knows that the run had not started. */
const removeOwn = (folder: string): Promise<string> => recoverRun(folder, KINDS, { nowMs: NOW, whose: 'made by us' });

describe('a run that had not started', () => {
  test('is removed with its empty folders', async () => {
    const folder = runFolder([]);
    mkdirSync(path.join(folder, 'evidence', 'internal'), { recursive: true });
    expect(await removeOwn(folder)).toBe('removed');
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    ['with a file next to its journal', ID, 'thesis.txt'],
    ['with a file in its folders', ID, 'evidence/internal/thesis.txt'],
    ['with another folder', ID, 'src/.keep'],
    ['whose folder does not have the name of a run', 'diary', undefined],
    ['whose folder almost has the name of a run', `${ID}-old`, undefined],
  ])('%s is not changed', async (_, name, file) => {
    const folder = runFolder([], name);
    if (file !== undefined) put(folder, file, 'precious');
    const before = insideOf(folder);
    await expect(removeOwn(folder)).rejects.toMatchObject({ code: 'odd_folder' });
    expect(insideOf(folder)).toEqual(before);
  });

  test('is not changed if one of its folders is a link', async () => {
    const outside = temporaryFolder();
    mkdirSync(path.join(outside, 'internal'));
    const folder = runFolder([]);
    symlinkSync(outside, path.join(folder, 'evidence'));
    await expect(removeOwn(folder)).rejects.toMatchObject({ code: 'odd_folder' });
    expect(existsSync(path.join(outside, 'internal'))).toBe(true);
  });
});

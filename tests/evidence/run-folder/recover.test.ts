import { cpSync, existsSync, readdirSync, readFileSync, renameSync, truncateSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ending } from '../../../src/contracts/ending.ts';
import type { ScriptOutcome } from '../../../src/contracts/script-outcome/index.ts';
import { SEAL } from '../../../src/evidence/run-folder/finish.ts';
import { JOURNAL } from '../../../src/evidence/run-folder/journal.ts';
import { hasJournal, openRun, recoverRun } from '../../../src/evidence/recovery/recover.ts';
import { KINDS } from '../../../src/run/kinds.ts';
import type { ScriptLine, ScriptReading } from '../../../src/evidence/script/script-run.ts';
import { proveJournal, ROOT, temporaryFolder } from '../../support/support.ts';
import {
  captureOf,
  COMPLETED_AT,
  expectValid,
  finishRun,
  noteOf,
  plan,
  put,
  said,
  STARTED_AT,
  succeeded,
} from '../script/script-world.ts';

const NOW = COMPLETED_AT + 60_000;
const OUTPUT = { 'output/a.txt': 'aaa', 'output/sub/b.tmp': 'bb' };
const EXITED: Ending = { how: 'exited', code: 0 };
const LATE: Ending = { how: 'killed', by: 'timeout', signal: 'SIGKILL' };

function linesOf(ending: Ending, reading: ScriptReading): ScriptLine[] {
  return [
    { is: 'planned', plan: plan() },
    { is: 'started', atMs: STARTED_AT + 100 },
    { is: 'captured', atMs: STARTED_AT + 4_100, capture: noteOf(captureOf(ending)) },
    { is: 'read', atMs: COMPLETED_AT, reading },
  ];
}

const LINES = linesOf(EXITED, succeeded(OUTPUT));
const journalOf = (lines: readonly ScriptLine[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('');

/** A run folder at the moment when Proctor dies. */
function interrupted(journal: string | Uint8Array, files: Record<string, string | Uint8Array> = {}): string {
  const folder = path.join(temporaryFolder(), plan().request.run_id);
  put(folder, JOURNAL, journal);
  proveJournal(folder);
  for (const [file, content] of Object.entries(files)) put(folder, file, content);
  return folder;
}

const PARTS = { 'evidence/internal/stdout.part': 'hello\n' };

function outcomeIn(folder: string): ScriptOutcome {
  return JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')) as ScriptOutcome;
}

/** A recovered folder: valid, sealed, and without the files of a live run. */
async function expectWhole(folder: string): Promise<void> {
  await expectValid(folder);
  expect(existsSync(path.join(folder, SEAL))).toBe(true);
  expect(hasJournal(folder)).toBe(false);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => !name.startsWith('output/'));
  expect(names.filter(name => /\.(?:tmp|part|partial)$/.test(name))).toEqual([]);
}

const textIn = (folder: string, stream: 'stdout' | 'stderr'): string =>
  readFileSync(path.join(folder, 'evidence/steps/script', `${stream}.txt`), 'utf8');

/** Where to cut a journal: at its start, after every line, and at three offsets inside each. */
const cuts = (journal: Buffer): number[] => {
  const ends = [0, ...[...journal.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1)];
  return ends.flatMap((end, index) => {
    const next = ends[index + 1];
    return next === undefined ? [end] : [end, end + 1, Math.floor((end + next) / 2), next - 2];
  });
};

/** The number of complete lines. */
const wholeLines = (journal: Buffer, length: number): number =>
  journal.subarray(0, length).toString().split('\n').length - 1;

/** By the number of complete lines: what is unknown, and when the run was last alive. */
const UNKNOWN = [[], [], ['ending', 'usage', 'streams', 'output'], ['output'], []];
const SEEN_AT = [0, STARTED_AT, STARTED_AT + 100, STARTED_AT + 4_100, COMPLETED_AT];

const timesIn = (folder: string): object => {
  const text = readFileSync(path.join(folder, 'evidence/metadata.json'), 'utf8');
  const { started_at, ended_at } = JSON.parse(text) as { started_at: string; ended_at: string };
  return { started_at, ended_at };
};

describe('an interrupted run', () => {
  const journal = Buffer.from(journalOf(LINES));
  test.each(cuts(journal).map(cut => [wholeLines(journal, cut), cut]))(
    'whose journal ends after line %d, at byte %d, is recovered',
    async (lines, cut) => {
      const isBegun = lines > 0;
      const folder = interrupted(journal.subarray(0, cut), isBegun ? { ...PARTS, ...OUTPUT } : {});
      if (!isBegun) {
        await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({ code: 'not_started_here' });
        expect(await recoverRun(folder, KINDS, { nowMs: NOW, whose: 'made by us' })).toBe('removed');
        expect(existsSync(folder)).toBe(false);
        return;
      }
      expect(await recoverRun(folder, KINDS, { nowMs: NOW })).toBe('recovered');
      await expectWhole(folder);
      const { status, reason, ending, artifacts, salvaged, usage, recovered } = outcomeIn(folder);
      expect({ status, reason, ending }).toEqual({
        status: 'failed',
        reason: 'interrupted',
        ending: lines >= 3 ? EXITED : { how: 'lost' },
      });
      expect(recovered).toEqual({ at: new Date(NOW).toISOString(), unknown: UNKNOWN[lines] });
      expect(usage.cpu_ms).toBe(lines >= 3 ? 13 : null);
      expect(existsSync(path.join(folder, 'evidence/runner.json'))).toBe(lines >= 3);
      expect({ salvaged, files: artifacts.files }).toEqual(
        lines === 4 ? { salvaged: true, files: 2 } : { salvaged: false, files: 0 },
      );
      expect(existsSync(path.join(folder, 'output/sub/b.tmp'))).toBe(lines === 4);
      expect(timesIn(folder)).toEqual({
        started_at: new Date(STARTED_AT).toISOString(),
        ended_at: new Date(SEEN_AT[lines] as number).toISOString(),
      });
      expect(textIn(folder, 'stdout')).toBe('hello\n');
    },
  );

  test('that was ended by a time limit counts as timed out', async () => {
    const folder = interrupted(journalOf(linesOf(LATE, succeeded()).slice(0, 3)), PARTS);
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    expect(outcomeIn(folder)).toMatchObject({
      status: 'timed_out',
      timeout_source: 'proctor',
      reason: 'interrupted',
      ending: LATE,
    });
  });

  test('states the reason, if it is known', async () => {
    const folder = interrupted(journalOf(LINES.slice(0, 2)));
    const because = { reason: 'ingest_io', message: 'It could not be completed.', detail: 'ENOSPC' };
    await recoverRun(folder, KINDS, { nowMs: NOW, because });
    await expectWhole(folder);
    expect(outcomeIn(folder)).toMatchObject({ reason: 'ingest_io', public_message: 'It could not be completed.' });
    expect(readFileSync(path.join(folder, 'evidence/internal/log.ndjson'), 'utf8')).toContain('ENOSPC');
  });

  test('whose journal ends in garbage is recovered as if it ended before the garbage', async () => {
    for (const garbage of [Buffer.alloc(4_096), Buffer.from('null\n7\n'), Buffer.from([0xff, 0xfe])]) {
      const folder = interrupted(Buffer.concat([Buffer.from(journalOf(LINES.slice(0, 2))), garbage]));
      expect(await recoverRun(folder, KINDS, { nowMs: NOW })).toBe('recovered');
      await expectWhole(folder);
    }
  });

  test('that is recovered after the clock was set back to before its start is still valid', async () => {
    for (const lines of [1, 2, 3, 4]) {
      const folder = interrupted(journalOf(LINES.slice(0, lines)), { ...PARTS, ...(lines === 4 && OUTPUT) });
      await recoverRun(folder, KINDS, { nowMs: STARTED_AT - 3_600_000 });
      await expectWhole(folder);
    }
  });
});

describe('the time when an interrupted run was last alive', () => {
  const endedAt = async (writtenAtMs: number, nowMs = NOW): Promise<number> => {
    const folder = interrupted(journalOf(LINES.slice(0, 2)), PARTS);
    utimesSync(path.join(folder, 'evidence/internal/stdout.part'), writtenAtMs / 1_000, writtenAtMs / 1_000);
    await recoverRun(folder, KINDS, { nowMs: nowMs });
    await expectWhole(folder);
    return Date.parse((timesIn(folder) as { ended_at: string }).ended_at);
  };

  test('is that of the last write to its streams', async () => {
    expect(await endedAt(STARTED_AT + 2_000)).toBe(STARTED_AT + 2_000);
  });

  test('is never before its start, in the future, or after its time limit', async () => {
    expect(await endedAt(STARTED_AT - 5_000)).toBe(STARTED_AT + 100);
    expect(await endedAt(NOW + 5_000)).toBe(STARTED_AT + 100);
    const dayMs = 24 * 3_600_000;
    expect(await endedAt(STARTED_AT + dayMs, NOW + 2 * dayMs)).toBe(STARTED_AT + 100);
  });
});

test('files that differ from those judged are not shown', async () => {
  for (const files of [{ 'output/a.txt': 'aaa' }, { ...OUTPUT, 'output/a.txt': '' }, { ...OUTPUT, 'output/c': 'c' }]) {
    const folder = interrupted(journalOf(LINES), { ...PARTS, ...files });
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    expect(existsSync(path.join(folder, 'output'))).toBe(false);
    expect(outcomeIn(folder)).toMatchObject({ reason: 'interrupted', recovered: { unknown: ['output'] } });
  }
});

test('a failure that was judged before the interruption keeps its reason', async () => {
  const failed: ScriptReading = {
    ...succeeded(),
    status: 'failed',
    claimedStatus: 'failed',
    reason: 'script_failed',
    publicMessage: 'No rows.',
    errorSummary: 'No rows.',
  };
  const folder = interrupted(journalOf(linesOf(EXITED, failed)), PARTS);
  await recoverRun(folder, KINDS, { nowMs: NOW });
  await expectWhole(folder);
  expect(outcomeIn(folder)).toMatchObject({ status: 'failed', reason: 'script_failed', recovered: { unknown: [] } });
});

describe('a recovered stream', () => {
  const long = `head${'x'.repeat(3_000)}tail`;
  // Streams are masked as they arrive.
  const capture = captureOf(EXITED, said(long), { ...said('key [masked]'), masked: 1 });
  const lines: ScriptLine[] = [
    ...LINES.slice(0, 2),
    { is: 'captured', atMs: STARTED_AT + 4_100, capture: noteOf(capture) },
  ];
  const parts = {
    'evidence/internal/stdout.part': Buffer.from(capture.stdout.head),
    'evidence/internal/stderr.part': Buffer.from(capture.stderr.head),
  };

  test('has its head, a mark for the missing bytes, and their count', async () => {
    const folder = interrupted(journalOf(lines), parts);
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    expect(textIn(folder, 'stdout')).toBe(`${long.slice(0, 1_000)}\n[2008 bytes are missing here]\n`);
    expect(outcomeIn(folder).streams[0]).toMatchObject({ bytes_total: 3_008, bytes_kept: 1_000, truncated: true });
  });

  test('is masked, and not reported as truncated if only a credential is missing', async () => {
    const folder = interrupted(journalOf(lines), parts);
    await recoverRun(folder, KINDS, { nowMs: NOW });
    expect(textIn(folder, 'stderr')).toBe('key [masked]');
    expect(outcomeIn(folder).streams[1]).toMatchObject({
      truncated: false,
      masked: 1,
      bytes_kept: 12,
      bytes_total: 12,
    });
  });

  test('is complete if it was already stored', async () => {
    const done = path.join(temporaryFolder(), 'run');
    await finishRun(done, capture, succeeded());
    const documents = ['stdout', 'stderr'].map(name => `evidence/steps/script/${name}.txt`);
    const stored = Object.fromEntries(documents.map(file => [file, readFileSync(path.join(done, file))]));
    const folder = interrupted(journalOf([...lines, { is: 'read', atMs: COMPLETED_AT, reading: succeeded() }]), stored);
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    for (const file of documents) expect(readFileSync(path.join(folder, file))).toEqual(stored[file]);
    expect(outcomeIn(folder).streams).toEqual(outcomeIn(done).streams);
  });

  test('may consist of the mark alone', async () => {
    const folder = interrupted(journalOf(lines));
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    expect(textIn(folder, 'stdout')).toBe('\n[3008 bytes are missing here]\n');
  });

  test('does not end in half a character if more is known to follow', async () => {
    const said = captureOf(EXITED, { ...capture.stdout, bytesTotal: 100 });
    const line: ScriptLine = { is: 'captured', atMs: STARTED_AT + 4_100, capture: noteOf(said) };
    const folder = interrupted(journalOf([...LINES.slice(0, 2), line]), {
      'evidence/internal/stdout.part': Buffer.from('ab€').subarray(0, 4),
    });
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    expect(textIn(folder, 'stdout')).toBe('ab\n[98 bytes are missing here]\n');
  });
});

describe('temporary files of an interrupted run', () => {
  const LEFT = {
    ...PARTS,
    'evidence/internal/stderr.part': 'oh\n',
    'output.partial/result.json': '{"contract_version":7}',
    'output.partial/evidence/runner.json': '{}',
    'evidence/seal.json.tmp': '{"payload',
    'evidence/outcome.json.tmp': '{"schema',
    'evidence/steps/script/stdout.txt.tmp': 'hel',
    'evidence/steps/script/other.tmp': 'hel',
    'evidence/internal/result.raw': '{"contract_version":1',
    'result.json.tmp': '{',
    'result.json': '{}',
  };

  test.each([1, 2, 3, 4])('are removed, after %d lines', async lines => {
    const folder = interrupted(journalOf(LINES.slice(0, lines)), { ...LEFT, ...OUTPUT });
    await recoverRun(folder, KINDS, { nowMs: NOW });
    await expectWhole(folder);
    expect(existsSync(path.join(folder, 'output.partial'))).toBe(false);
  });
});

/** A finished run, in the state that it has if Proctor dies while writing it. */
async function dyingAt(step: number): Promise<string> {
  const folder = interrupted(journalOf(LINES), { ...OUTPUT, ...PARTS });
  await finishRun(folder, captureOf(EXITED), succeeded(OUTPUT));
  const documents = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter(file => file !== JOURNAL && !file.startsWith('output/') && file !== SEAL)
    .sort();
  for (const [index, file] of [...documents, SEAL].entries()) {
    const full = path.join(folder, file);
    // Later documents are already written, but under their temporary names.
    if (index >= step) renameSync(full, `${full}.tmp`);
    if (index === step) truncateSync(`${full}.tmp`, 5);
  }
  for (const [file, content] of Object.entries(PARTS)) if (step < documents.length) put(folder, file, content);
  return folder;
}

describe('a run that was interrupted while its documents were being written', () => {
  test.each(Array.from({ length: 13 }, (_, step) => step))(
    'at document %d has succeeded only if it was sealed',
    async step => {
      const folder = await dyingAt(step);
      const isSealed = existsSync(path.join(folder, SEAL));
      expect(await recoverRun(folder, KINDS, { nowMs: NOW })).toBe(isSealed ? 'sealed' : 'recovered');
      await expectWhole(folder);
      expect(outcomeIn(folder)).toMatchObject({
        status: isSealed ? 'succeeded' : 'failed',
        reason: isSealed ? null : 'interrupted',
        artifacts: { files: 2 },
      });
    },
  );

  test('after its seal only loses its journal', async () => {
    const folder = interrupted(journalOf(LINES.slice(0, 1)), OUTPUT);
    await finishRun(folder, captureOf(EXITED), succeeded(OUTPUT));
    expect(await recoverRun(folder, KINDS, { nowMs: NOW })).toBe('sealed');
    await expectWhole(folder);
  });
});

describe('a recovery', () => {
  const bytesOf = (folder: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => path.join(entry.parentPath, entry.name))
        .map(file => [path.relative(folder, file), readFileSync(file, 'latin1')]),
    );

  test.each([1, 2, 3, 4])('that is repeated changes nothing, after %d lines', async lines => {
    const folder = interrupted(journalOf(LINES.slice(0, lines)), { ...PARTS, ...OUTPUT });
    await recoverRun(folder, KINDS, { nowMs: NOW });
    const before = bytesOf(folder);
    expect(await recoverRun(folder, KINDS, { nowMs: NOW + 1_000 })).toBe('sealed');
    expect(bytesOf(folder)).toEqual(before);
    put(folder, JOURNAL, journalOf(LINES.slice(0, lines)));
    proveJournal(folder);
    expect(await recoverRun(folder, KINDS, { nowMs: NOW + 1_000 })).toBe('sealed');
    expect(bytesOf(folder)).toEqual(before);
  });

  test('succeeds even if an earlier one was interrupted', async () => {
    for (const lines of [1, 2, 3, 4]) {
      const first = interrupted(journalOf(LINES.slice(0, lines)), { ...PARTS, ...OUTPUT });
      const again = path.join(temporaryFolder(), 'run');
      cpSync(first, again, { recursive: true });
      await recoverRun(first, KINDS, { nowMs: NOW });
      for (const file of Object.keys(bytesOf(first)).filter(file => file !== SEAL)) {
        cpSync(path.join(first, file), path.join(again, file));
      }
      proveJournal(again);
      await recoverRun(again, KINDS, { nowMs: NOW });
      await expectWhole(again);
      expect(outcomeIn(again)).toEqual(outcomeIn(first));
    }
  });

  test('is refused for a folder that is not a run, and does not change it', async () => {
    const folder = temporaryFolder();
    put(folder, 'precious.txt', 'mine');
    await expect(recoverRun(folder, KINDS, { nowMs: NOW })).rejects.toMatchObject({
      name: 'Fault',
      code: 'no_journal',
    });
    expect(bytesOf(folder)).toEqual({ 'precious.txt': 'mine' });
  });
});

describe('an open run', () => {
  test('states its owner, whether it is sealed, and whether it was started here', async () => {
    const folder = interrupted(journalOf(LINES.slice(0, 1)));
    expect(openRun(folder)).toMatchObject({ plan: { owner: { pid: 1 } }, isSealed: false, isOurs: true });
    await finishRun(folder, captureOf(EXITED), succeeded());
    expect(openRun(folder).isSealed).toBe(true);
    truncateSync(path.join(folder, JOURNAL), 3);
    expect(openRun(folder)).toEqual({ plan: undefined, isSealed: true, isOurs: false });
  });

  test('differs from a finished one', async () => {
    const folder = interrupted(journalOf(LINES));
    expect(hasJournal(folder)).toBe(true);
    await recoverRun(folder, KINDS, { nowMs: NOW });
    expect(hasJournal(folder)).toBe(false);
  });
});

test.each(['script', 'agent', 'intent'])('a %s run that an older Proctor recovered is still valid', async kind => {
  await expectValid(path.join(ROOT, 'tests/fixtures/recovered', kind));
});

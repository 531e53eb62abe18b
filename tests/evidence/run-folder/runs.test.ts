import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { findRun, homeFrom, runsIn, makeRunFolder } from '../../../src/evidence/run-folder/runs.ts';
import { until } from '../../support/runs.ts';
import { temporaryFolder } from '../../support/support.ts';

const A = 'script_20260101_090000_aaaaaaaaaaaa';
const B = 'script_20260102_090000_bbbbbbbbbbbb';
const C = 'agent_20260103_090000_cccccccccccc';

/** A home with three runs. The newest run has the oldest folder and another kind. */
function home(): string {
  const folder = path.join(temporaryFolder(), '.proctor');
  makeRunFolder(folder, 'agent', C);
  makeRunFolder(folder, 'script', B);
  makeRunFolder(folder, 'script', A);
  return folder;
}

function refusal(folder: string, word: string): string {
  try {
    return findRun(folder, word).id;
  } catch (fault) {
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
}

describe('the Proctor home', () => {
  test('is the nearest one in a parent folder', () => {
    const top = temporaryFolder();
    const below = path.join(top, 'a', 'b');
    mkdirSync(below, { recursive: true });
    makeRunFolder(path.join(top, '.proctor'), 'script', A);
    expect(homeFrom(below)).toBe(path.join(top, '.proctor'));
    makeRunFolder(path.join(top, 'a', '.proctor'), 'script', A);
    expect(homeFrom(below)).toBe(path.join(top, 'a', '.proctor'));
  });

  test('is in the current folder if no parent has one, and looking it up does not create it', () => {
    const here = temporaryFolder();
    expect(homeFrom(here)).toBe(path.join(here, '.proctor'));
    expect(existsSync(path.join(here, '.proctor'))).toBe(false);
  });

  test('is the one in the current folder, even if it is empty and a parent has runs', () => {
    const top = temporaryFolder();
    makeRunFolder(path.join(top, '.proctor'), 'script', A);
    mkdirSync(path.join(top, 'a', '.proctor'), { recursive: true });
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, 'a', '.proctor'));
    rmdirSync(path.join(top, 'a', '.proctor'));
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, '.proctor'));
  });

  test('is not a .proctor folder in a parent if that has no runs', () => {
    const top = temporaryFolder();
    mkdirSync(path.join(top, '.proctor'));
    mkdirSync(path.join(top, 'a'));
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, 'a', '.proctor'));
  });

  test('is ignored by Git, unless its owner decides otherwise', () => {
    const folder = path.join(temporaryFolder(), '.proctor');
    makeRunFolder(folder, 'script', A);
    const ignore = path.join(folder, '.gitignore');
    expect(readFileSync(ignore, 'utf8')).toBe('*\n!/settings.json\n');
    writeFileSync(ignore, '');
    makeRunFolder(folder, 'agent', C);
    expect(readFileSync(ignore, 'utf8')).toBe('');
  });
});

describe('a run folder', () => {
  test('is in the folder of its kind', () => {
    const folder = home();
    expect(makeRunFolder(folder, 'script', 'x')).toEqual({
      id: 'x',
      lane: 'script',
      folder: path.join(folder, 'runs', 'script', 'x'),
    });
  });

  test('that already exists is refused', () => {
    const folder = home();
    expect(() => makeRunFolder(folder, 'script', A)).toThrow(
      expect.objectContaining({
        code: 'folder_failed',
        message: expect.stringMatching(/^The run folder could not be created here\. /) as string,
      }),
    );
  });
});

/** Waits until the file system clock moves. Folders created within one tick, a few milliseconds, have the same age. */
async function fileClockMoves(): Promise<void> {
  const made = (): bigint => statSync(temporaryFolder(), { bigint: true }).birthtimeNs;
  const before = made();
  await until('the clock moves', () => made() !== before);
}

describe('the list of runs', () => {
  test('ends with the newest, whatever its kind and the age of its folder', () => {
    expect(runsIn(home()).map(({ id }) => id)).toEqual([A, B, C]);
  });

  test('keeps the creation order within one second', async () => {
    const folder = home();
    const ids = ['ffff', '0000', '8888'].map(end => `script_20260104_090000_${end}`);
    for (const id of ids) {
      makeRunFolder(folder, id.endsWith('0000') ? 'agent' : 'script', id);
      await fileClockMoves();
    }
    expect(runsIn(folder).map(({ id }) => id)).toEqual([A, B, C, ...ids]);
  });

  test('sorts runs with custom names by their start, even if their folders were copied later', () => {
    const folder = home();
    for (const [id, started_at] of [
      ['middle', '2026-01-02T12:00:00.000Z'],
      ['last', '2026-01-04T12:00:00.002Z'],
      ['almost', '2026-01-04T12:00:00.001Z'],
    ] as const) {
      const { folder: run } = makeRunFolder(folder, 'new', id);
      mkdirSync(path.join(run, 'evidence'));
      writeFileSync(path.join(run, 'evidence', 'metadata.json'), JSON.stringify({ started_at }));
    }
    makeRunFolder(folder, 'new', 'begun-just-now');
    expect(runsIn(folder).map(({ id }) => id)).toEqual([A, B, 'middle', C, 'almost', 'last', 'begun-just-now']);
  });

  test('contains only folders', () => {
    const folder = home();
    writeFileSync(path.join(folder, 'runs', 'note.txt'), '');
    writeFileSync(path.join(folder, 'runs', 'script', 'note.txt'), '');
    expect(runsIn(folder)).toHaveLength(3);
  });

  test('is empty without a home', () => {
    expect(runsIn(path.join(temporaryFolder(), 'no'))).toEqual([]);
  });
});

describe('a run', () => {
  const MORE = 'Use more of the id; `proctor list` shows all runs.';

  test.each([
    ['its id', A, A],
    ['the start of its id', 'agent_', C],
    ['the start of its time', '20260102', B],
    ['the end of its id', 'bbbb', B],
    ['latest', 'latest', C],
    ['a prefix of two ids', 'script_', `ambiguous_run: 2 runs match "script_". ${MORE}`],
    ['a prefix of three ids', '2026', `ambiguous_run: 3 runs match "2026". ${MORE}`],
    ['a word that matches nothing', 'zzz', 'no_run: There is no run "zzz". `proctor list` shows all runs.'],
    [
      'a word with a typo',
      'latets',
      'no_run: There is no run "latets". Did you mean "latest"? `proctor list` shows all runs.',
    ],
    [
      'an id with a typo',
      `${A.slice(0, -1)}b`,
      `no_run: There is no run "${A.slice(0, -1)}b". Did you mean "${A}"? \`proctor list\` shows all runs.`,
    ],
    [
      'a word with a terminal escape',
      '\u001b[31m',
      'no_run: There is no run "\\u{1b}[31m". `proctor list` shows all runs.',
    ],
  ])('is looked up by %s', (_, word, expected) => {
    expect(refusal(home(), word)).toBe(expected);
  });

  test('is found by its id even if that is a prefix of another', () => {
    const folder = home();
    makeRunFolder(folder, 'script', `${A}0`);
    expect(findRun(folder, A).id).toBe(A);
    expect(refusal(folder, A.slice(0, -1))).toContain('ambiguous_run');
  });

  test('is found by its path, even in another home', () => {
    const folder = path.join(home(), 'runs', 'script', A);
    expect(findRun(path.join(temporaryFolder(), 'other'), folder)).toEqual({ id: A, lane: 'script', folder });
    expect(findRun(path.join(temporaryFolder(), 'other'), `${folder}/`)).toEqual({ id: A, lane: 'script', folder });
  });

  test('is found by its folder name before any run whose id contains the word', () => {
    const [folder, elsewhere] = [home(), path.join(temporaryFolder(), 'script')];
    mkdirSync(path.join(elsewhere, 'evidence'), { recursive: true });
    const before = process.cwd();
    process.chdir(path.dirname(elsewhere));
    try {
      expect(findRun(folder, 'script').folder).toBe(elsewhere);
      expect(findRun(folder, 'bbbb').id).toBe(B);
      expect(refusal(folder, 'b')).toContain('no_run');
    } finally {
      process.chdir(before);
    }
  });

  test('is not found by the path of a file', () => {
    const file = path.join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(refusal(home(), file)).toContain('no_run');
  });

  test('found as latest is the last one created in its second', async () => {
    const folder = home();
    for (const end of ['ffff', '0000', '8888']) {
      await fileClockMoves();
      makeRunFolder(folder, 'script', `script_20260104_090000_${end}`);
    }
    expect(findRun(folder, 'latest').id).toBe('script_20260104_090000_8888');
  });

  test('is never the latest if its id or its metadata claims a future time', () => {
    const folder = home();
    makeRunFolder(folder, 'script', 'script_20990101_090000_ffffffffffff');
    const { folder: named } = makeRunFolder(folder, 'new', 'nightly');
    mkdirSync(path.join(named, 'evidence'));
    writeFileSync(path.join(named, 'evidence', 'metadata.json'), '{"started_at":"2099-01-01T00:00:00.000Z"}');
    expect(findRun(folder, 'latest').id).toBe(C);
    expect(
      runsIn(folder)
        .map(({ id }) => id)
        .slice(2),
    ).toEqual([A, B, C]);
    const { folder: own } = makeRunFolder(folder, 'new', 'today');
    // Setting the times of a folder does not change its creation time, so this run is still the latest.
    utimesSync(own, new Date('2099-01-01'), new Date('2099-01-01'));
    expect(findRun(folder, 'latest').id).toBe('today');
  });

  test('is not found if there are no runs yet', () => {
    expect(refusal(temporaryFolder(), 'latest')).toBe(
      'no_run: There are no runs yet. Create one with `proctor run script FILE`, `proctor run intent FILE` or `proctor run suite CASES`.',
    );
  });
});

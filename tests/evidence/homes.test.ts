/** Which folder is believed to be the home of runs: what it says decides what is removed and what counts as tried. */
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { homeFrom, listRuns, makeRunFolder } from '../../src/evidence/runs.ts';
import { temporaryFolder } from '../support.ts';

const ID = 'script_20260101_090000_aaaaaaaaaaaa';
const OTHER_USER = 65_533;

/** A folder with a home in it, and one below that has none. */
function above(): { readonly home: string; readonly below: string } {
  const top = temporaryFolder();
  const below = path.join(top, 'a', 'b');
  mkdirSync(below, { recursive: true });
  const home = path.join(top, '.proctor');
  mkdirSync(path.join(home, 'runs'), { recursive: true });
  return { home, below };
}

describe('a home further up', () => {
  const spoilt: [string, (home: string) => void][] = [
    ['that is another user’s', home => chownSync(home, OTHER_USER, OTHER_USER)],
    ['whose runs are another user’s', home => chownSync(path.join(home, 'runs'), OTHER_USER, OTHER_USER)],
    ['that everybody can write to', home => chmodSync(home, 0o777)],
    ['whose runs everybody can write to', home => chmodSync(path.join(home, 'runs'), 0o777)],
  ];

  test.each(spoilt)('%s is passed over', (_, spoil) => {
    const { home, below } = above();
    expect(homeFrom(below)).toBe(home);
    spoil(home);
    expect(homeFrom(below)).toBe(path.join(below, '.proctor'));
  });

  test('that is a link of another user’s is passed over, and one of ours is not', () => {
    const { home } = above();
    const top = temporaryFolder();
    mkdirSync(path.join(top, 'a'));
    symlinkSync(home, path.join(top, '.proctor'));
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, '.proctor'));
    lchownSync(path.join(top, '.proctor'), OTHER_USER, OTHER_USER);
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, 'a', '.proctor'));
  });

  test('is found behind one that is passed over', () => {
    const { home, below } = above();
    const nearer = path.join(path.dirname(below), '.proctor');
    mkdirSync(path.join(nearer, 'runs'), { recursive: true });
    expect(homeFrom(below)).toBe(nearer);
    chmodSync(nearer, 0o777);
    expect(homeFrom(below)).toBe(home);
  });
});

describe('a home here', () => {
  test('that is not ours alone is refused, since there is no other place for one', () => {
    const here = temporaryFolder();
    mkdirSync(path.join(here, '.proctor'));
    expect(homeFrom(here)).toBe(path.join(here, '.proctor'));
    for (const spoil of [
      () => chmodSync(path.join(here, '.proctor'), 0o777),
      () => chownSync(path.join(here, '.proctor'), OTHER_USER, OTHER_USER),
    ]) {
      spoil();
      expect(() => homeFrom(here)).toThrow(
        expect.objectContaining({ code: 'foreign_home', message: expect.stringContaining('a folder of your own') }),
      );
    }
  });

  test('is made so that it is believed the next time, however careless the user is', () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const here = temporaryFolder();
    makeRunFolder(path.join(here, '.proctor'), 'script', ID);
    expect(statSync(path.join(here, '.proctor')).mode & 0o022).toBe(0);
    mkdirSync(path.join(here, 'below'));
    expect(homeFrom(path.join(here, 'below'))).toBe(path.join(here, '.proctor'));
  });
});

describe('the folder of a run', () => {
  test('is not made through a link, behind which no list would find it', () => {
    const home = path.join(temporaryFolder(), '.proctor');
    const elsewhere = temporaryFolder();
    mkdirSync(path.join(home, 'runs'), { recursive: true });
    symlinkSync(elsewhere, path.join(home, 'runs', 'script'));
    expect(() => makeRunFolder(home, 'script', ID)).toThrow(
      expect.objectContaining({ code: 'folder_failed', message: expect.stringMatching(/runs\/script is a link/) }),
    );
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(listRuns(home)).toEqual([]);
  });

  test('that cannot be made says what to do', () => {
    const here = temporaryFolder();
    mkdirSync(path.join(here, '.proctor'));
    writeFileSync(path.join(here, '.proctor', 'runs'), '');
    expect(() => makeRunFolder(path.join(here, '.proctor'), 'script', ID)).toThrow(
      expect.objectContaining({
        code: 'folder_failed',
        message: expect.stringMatching(
          /could not be created here\. Change to a folder that you own and can write to\.$/,
        ),
      }),
    );
  });
});

/** Which folder Proctor trusts as its home. Its content decides what is removed and which sandboxes count as tested. */
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
import { homeFrom, runsIn, makeRunFolder } from '../../../src/evidence/run-folder/runs.ts';
import { temporaryFolder } from '../../support/support.ts';

const ID = 'script_20260101_090000_aaaaaaaaaaaa';
const OTHER_USER = 65_533;

/** A folder with a home, and a folder below it without one. */
function above(): { readonly home: string; readonly below: string } {
  const top = temporaryFolder();
  const below = path.join(top, 'a', 'b');
  mkdirSync(below, { recursive: true });
  const home = path.join(top, '.proctor');
  mkdirSync(path.join(home, 'runs'), { recursive: true });
  return { home, below };
}

describe('a home in a parent folder', () => {
  const spoilt: [string, (home: string) => void][] = [
    ['that another user owns', home => chownSync(home, OTHER_USER, OTHER_USER)],
    ['whose runs another user owns', home => chownSync(path.join(home, 'runs'), OTHER_USER, OTHER_USER)],
    ['that everyone can write to', home => chmodSync(home, 0o777)],
    ['whose runs everyone can write to', home => chmodSync(path.join(home, 'runs'), 0o777)],
  ];

  test.each(spoilt)('%s is skipped', (_, spoil) => {
    const { home, below } = above();
    expect(homeFrom(below)).toBe(home);
    spoil(home);
    expect(homeFrom(below)).toBe(path.join(below, '.proctor'));
  });

  test("is skipped if it is another user's link, but not if it is this user's", () => {
    const { home } = above();
    const top = temporaryFolder();
    mkdirSync(path.join(top, 'a'));
    symlinkSync(home, path.join(top, '.proctor'));
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, '.proctor'));
    lchownSync(path.join(top, '.proctor'), OTHER_USER, OTHER_USER);
    expect(homeFrom(path.join(top, 'a'))).toBe(path.join(top, 'a', '.proctor'));
  });

  test('is found above one that is skipped', () => {
    const { home, below } = above();
    const nearer = path.join(path.dirname(below), '.proctor');
    mkdirSync(path.join(nearer, 'runs'), { recursive: true });
    expect(homeFrom(below)).toBe(nearer);
    chmodSync(nearer, 0o777);
    expect(homeFrom(below)).toBe(home);
  });
});

describe('a home in the current folder', () => {
  test('is refused if other users own it or can write to it', () => {
    const here = temporaryFolder();
    mkdirSync(path.join(here, '.proctor'));
    expect(homeFrom(here)).toBe(path.join(here, '.proctor'));
    for (const spoil of [
      () => chmodSync(path.join(here, '.proctor'), 0o777),
      () => chownSync(path.join(here, '.proctor'), OTHER_USER, OTHER_USER),
    ]) {
      spoil();
      expect(() => homeFrom(here)).toThrow(
        expect.objectContaining({ code: 'foreign_home', message: expect.stringContaining('a folder that you own') }),
      );
    }
  });

  test('is created with safe permissions, whatever the umask is', () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const here = temporaryFolder();
    makeRunFolder(path.join(here, '.proctor'), 'script', ID);
    expect(statSync(path.join(here, '.proctor')).mode & 0o022).toBe(0);
    mkdirSync(path.join(here, 'below'));
    expect(homeFrom(path.join(here, 'below'))).toBe(path.join(here, '.proctor'));
  });
});

describe('a run folder', () => {
  test('is not created through a link, because no list would find it', () => {
    const home = path.join(temporaryFolder(), '.proctor');
    const elsewhere = temporaryFolder();
    mkdirSync(path.join(home, 'runs'), { recursive: true });
    symlinkSync(elsewhere, path.join(home, 'runs', 'script'));
    expect(() => makeRunFolder(home, 'script', ID)).toThrow(
      expect.objectContaining({ code: 'folder_failed', message: expect.stringMatching(/runs\/script is a link/) }),
    );
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(runsIn(home)).toEqual([]);
  });

  test('that cannot be created causes a fault that says what to do', () => {
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

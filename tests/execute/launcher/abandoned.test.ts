/** Leftovers of dead processes in the shared temporary folder, and files that only look like them. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { removeAbandoned } from '../../../src/execute/launcher/abandoned.ts';
import { ownName } from '../../../src/execute/host/processes.ts';
import { isStageOfOurs, makeStage, removeStage, RUN_UIDS } from '../../../src/execute/host/workspace.ts';
import { temporaryFolder } from '../../support/support.ts';

const OTHER_USER = 65_533;

/** The name of a dead process, as used in stage names. */
function deadName(): string {
  const [space] = ownName().split('.');
  return `${space}.${spawnSync('true').pid}.1`;
}

let temp = '';
beforeEach(() => {
  temp = temporaryFolder();
  vi.stubEnv('TMPDIR', temp);
  return () => vi.unstubAllEnvs();
});

function stageOf(owner: string, word: string): string {
  const stage = path.join(temp, `proctor-stage-${owner}-${word}`);
  mkdirSync(path.join(stage, 'work'), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(stage, 'work', 'a.txt'), 'a');
  return stage;
}

describe('removeAbandoned', () => {
  test('removes stages of dead processes, including those owned by the user of a run, and no others', async () => {
    const dead = deadName();
    const ours = stageOf(dead, 'a');
    const given = stageOf(dead, 'b');
    chownSync(given, RUN_UIDS.first + RUN_UIDS.count - 1, 0);
    const foreign = stageOf(dead, 'c');
    chownSync(foreign, OTHER_USER, OTHER_USER);
    const living = stageOf(ownName(), 'd');
    mkdirSync(path.join(temp, 'other'));
    await removeAbandoned();
    expect([ours, given].filter(existsSync)).toEqual([]);
    expect(readdirSync(temp).sort()).toEqual([foreign, living, 'other'].map(name => path.basename(name)).sort());
    expect(existsSync(path.join(foreign, 'work', 'a.txt'))).toBe(true);
  });

  test('follows no symlink, whatever its name, and continues', async () => {
    const dead = deadName();
    const outside = temporaryFolder();
    writeFileSync(path.join(outside, 'precious'), 'mine');
    const link = path.join(temp, `proctor-stage-${dead}-a`);
    symlinkSync(outside, link);
    writeFileSync(path.join(temp, `proctor-stage-${dead}-b`), 'a file');
    const last = stageOf(dead, 'z');
    symlinkSync(outside, path.join(last, 'work', 'link'));
    await removeAbandoned();
    expect(existsSync(path.join(outside, 'precious'))).toBe(true);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(existsSync(last)).toBe(false);
    expect(readdirSync(temp).filter(name => name.startsWith('proctor-stage-'))).toHaveLength(2);
  });

  test('removes the folder of a cleanup that died after moving a stage into it', async () => {
    const apart = path.join(temp, `proctor-stage-${deadName()}-apart-x1y2z3`);
    mkdirSync(apart, { mode: 0o700 });
    stageOf(deadName(), 'a');
    await removeAbandoned();
    expect(readdirSync(temp)).toEqual([]);
  });
});

describe('removeStage', () => {
  test('removes a stage and ignores one that is already gone', () => {
    const stage = makeStage('x');
    expect(isStageOfOurs(stage)).toBe(true);
    chmodSync(path.join(stage, 'work'), 0);
    removeStage(stage);
    removeStage(stage);
    expect(readdirSync(temp)).toEqual([]);
  });

  test('refuses a path that was replaced with something else', () => {
    const outside = temporaryFolder();
    writeFileSync(path.join(outside, 'precious'), 'mine');
    const stage = path.join(temp, `proctor-stage-${ownName()}-x`);
    symlinkSync(outside, stage);
    expect(isStageOfOurs(stage)).toBe(false);
    expect(() => removeStage(stage)).toThrow(expect.objectContaining({ code: 'stage_left' }));
    expect(existsSync(path.join(outside, 'precious'))).toBe(true);
  });
});

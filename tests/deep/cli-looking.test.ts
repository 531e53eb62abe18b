/** Read-only commands remove nothing and do not trust what a folder says about itself. */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { JOURNAL } from '../../src/evidence/run-folder/journal.ts';
import { ownName, startTicksOf } from '../../src/execute/host/processes.ts';
import { captureOf, finishRun, plan, put, succeeded } from '../evidence/script/script-world.ts';
import { proctor, proveJournal, temporaryFolder } from '../support/support.ts';

const ID = plan().request.run_id;
const PLANNED = `${JSON.stringify({ is: 'planned', plan: plan() })}\n`;
const LOOKS = [['list'], ['list', '--json'], ['show', ID], ['show', '--json'], ['verify', ID], ['verify', 'latest']];

/** A project with one open run whose owner is dead. */
function placeWith(journal: string, id = ID): { readonly cwd: string; readonly run: string } {
  const cwd = temporaryFolder();
  const run = path.join(cwd, '.proctor', 'runs', 'script', id);
  put(run, JOURNAL, journal);
  proveJournal(run);
  return { cwd, run };
}

const namesIn = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

describe('a command that finds an interrupted run', () => {
  test('does not remove a run that never started, unless it is recover', () => {
    const { cwd, run } = placeWith('{"is":"started","atMs":1}\n{"is":"pla');
    for (const look of LOOKS) proctor(look, { cwd });
    expect(namesIn(run)).toEqual([JOURNAL]);
    expect(proctor(['list'], { cwd }).stdout).toMatch(/^unfinished .* script_/);
    expect(proctor(['recover'], { cwd }).stdout).toBe(`${ID}  had not started; removed\n`);
    expect(existsSync(run)).toBe(false);
  });

  test('changes neither a dead run of this project nor a copy of it, if it only reads', () => {
    const { cwd, run } = placeWith(PLANNED);
    const elsewhere = path.join(temporaryFolder(), '.proctor', 'runs', 'script', ID);
    cpSync(run, elsewhere, { recursive: true });
    put(elsewhere, 'output/a.txt', 'mine');
    const before = namesIn(elsewhere);
    for (const args of [
      ['show', elsewhere],
      ['show', '--json', elsewhere],
      ['verify', elsewhere],
    ]) {
      proctor(args, { cwd });
      expect(namesIn(elsewhere), args.join(' ')).toEqual(before);
    }
    expect(proctor(['show', elsewhere], { cwd }).stdout).toMatch(/interrupted; you did not start it on this machine/);
    expect(proctor(['show', run], { cwd }).stdout).toMatch(/was interrupted; run proctor recover to complete it/);
    expect(namesIn(run)).toEqual([JOURNAL]);
  });

  test('skips a run that has the journal of another, and continues with the next', () => {
    const other = 'script_20260403_101501_000000000000';
    const { cwd, run } = placeWith(PLANNED, other);
    put(run, 'output/a.txt', 'mine');
    const mine = path.join(path.dirname(run), ID);
    put(mine, JOURNAL, PLANNED);
    proveJournal(mine);
    writeFileSync(path.join(run, JOURNAL), readFileSync(path.join(mine, JOURNAL)));
    const { stdout, code } = proctor(['recover'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain(`${other}  was interrupted; you did not start it on this machine`);
    expect(stdout).toContain(`${ID}  was interrupted; its run folder is complete now, and records the interruption\n`);
    expect(namesIn(run)).toEqual([JOURNAL, 'output', 'output/a.txt']);
  });

  test('ends no process and removes no stage that a journal names', () => {
    // Only the victim has this mark, so a mistake cannot hit another process.
    const marker = `PROCTOR_VICTIM=${path.basename(temporaryFolder())}`;
    const victim = spawn('sleep', ['600'], { env: { PROCTOR_VICTIM: marker.slice('PROCTOR_VICTIM='.length) } });
    onTestFinished(() => void victim.kill('SIGKILL'));
    const pid = victim.pid as number;
    const temp = temporaryFolder();
    const stage = path.join(temp, `proctor-stage-${ownName()}-${ID}`);
    mkdirSync(stage);
    const leftovers = { stage, cgroups: [], processes: [{ pid, startTicks: startTicksOf(pid) }], marker };
    for (const look of [...LOOKS, ['recover'], ['prune', '--older-than', '0s']]) {
      const { cwd } = placeWith(`${PLANNED}${JSON.stringify({ is: 'opened', leftovers })}\n`);
      proctor(look, { cwd, env: { TMPDIR: temp } });
    }
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).not.toMatch(/\) [ZX] /);
    expect(existsSync(stage)).toBe(true);
  });

  test('does not wait for a pipe', () => {
    const { cwd, run } = placeWith(PLANNED);
    mkdirSync(path.join(run, 'evidence', 'internal'), { recursive: true });
    execFileSync('mkfifo', [path.join(run, 'evidence', 'internal', 'stdout.part')]);
    const piped = path.join(path.dirname(run), 'script_20260403_101501_000000000000');
    mkdirSync(piped);
    execFileSync('mkfifo', [path.join(piped, JOURNAL)]);
    for (const look of [...LOOKS, ['recover'], ['prune', '--older-than', '0s']]) {
      expect([0, 1, 2, 3], look.join(' ')).toContain(proctor(look, { cwd }).code);
    }
    const { stdout } = proctor(['recover'], { cwd });
    expect(stdout).toMatch(/script_\w+ {2}was interrupted; you did not start it on this machine/);
    expect(existsSync(run)).toBe(false);
    expect(existsSync(piped)).toBe(true);
  });
});

describe('prune', () => {
  test('removes runs, but no other files with a time in their names', () => {
    const { cwd, run } = placeWith(PLANNED);
    const lane = path.dirname(run);
    put(lane, 'backup_20200101_000000_photos/a.txt', 'precious');
    put(lane, `${ID}-copy/a.txt`, 'precious');
    const trial = proctor(['prune', '--older-than', '0s', '--dry-run'], { cwd });
    expect(trial.stdout).toBe(`would remove  ${ID}\n1 run would be removed.\n`);
    expect(proctor(['prune', '--older-than', '0s'], { cwd }).stdout).toBe(`removed  ${ID}\n1 run removed.\n`);
    expect(readdirSync(lane).sort()).toEqual(['backup_20200101_000000_photos', `${ID}-copy`].sort());
  });

  test('keeps runs that it cannot complete, and does not claim that it would remove them', () => {
    const { cwd, run } = placeWith(PLANNED);
    chmodSync(path.join(run, JOURNAL), 0o666);
    for (const flags of [['--dry-run'], []]) {
      expect(proctor(['prune', '--older-than', '0s', ...flags], { cwd }).stdout).toMatch(/^0 runs /);
    }
    expect(namesIn(run)).toEqual([JOURNAL]);
  });
});

describe('a run in a renamed folder', () => {
  test('is listed and shown under its own id', async () => {
    const cwd = temporaryFolder();
    const lane = path.join(cwd, '.proctor', 'runs', 'script');
    const other = 'script_20270101_000000_ffffffffffff';
    await finishRun(path.join(lane, ID), captureOf({ how: 'exited', code: 0 }), succeeded());
    renameSync(path.join(lane, ID), path.join(lane, other));
    expect(proctor(['list'], { cwd }).stdout).toMatch(new RegExp(`^succeeded .* ${ID} .*in the folder ${other}\n$`));
    const { runs } = JSON.parse(proctor(['list', '--json'], { cwd }).stdout) as { runs: object[] };
    expect(runs).toMatchObject([{ run_id: ID, renamed: true, folder: path.join('.proctor/runs/script', other) }]);
    for (const word of [other, 'latest']) {
      expect(proctor(['show', word], { cwd }).stdout).toContain(`run       ${ID}\n`);
      expect(JSON.parse(proctor(['show', '--json', word], { cwd }).stdout)).toMatchObject({ run_id: ID });
    }
  });
});

describe('another user', () => {
  test('who planted a .proctor folder above the project is not trusted', () => {
    const top = temporaryFolder();
    chmodSync(top, 0o755);
    const below = path.join(top, 'mine');
    put(path.join(top, '.proctor', 'runs', 'script', ID), JOURNAL, PLANNED);
    mkdirSync(below);
    chownSync(path.join(top, '.proctor'), 65_533, 65_533);
    expect(proctor(['list'], { cwd: below }).stdout).toMatch(/^No runs yet/);
    expect(proctor(['recover'], { cwd: below }).stdout).toBe('All runs are finished.\n');
    expect(proctor(['list'], { cwd: top })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: The \.proctor folder in the current directory must belong to you, and other users must not be able to write to it\./,
      ),
    });
    expect(namesIn(path.join(top, '.proctor'))).toContain(path.join('runs', 'script', ID, JOURNAL));
  });

  test("who left a stage does not prevent the removal of this user's stages", () => {
    const cwd = temporaryFolder();
    const temp = temporaryFolder();
    for (const folder of [cwd, temp]) chmodSync(folder, 0o777);
    const [space] = ownName().split('.');
    const dead = `${space}.${execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }).trim()}.1`;
    const theirs = path.join(temp, `proctor-stage-${dead}-a`);
    const ours = path.join(temp, `proctor-stage-${dead}-b`);
    for (const stage of [theirs, ours]) put(stage, 'work/a.txt', 'a');
    for (const entry of ['.', 'work', 'work/a.txt']) chownSync(path.join(ours, entry), 65_534, 65_534);
    const ran = proctor(['recover'], { cwd, uid: 65_534, env: { TMPDIR: temp } });
    expect(ran.code, ran.stderr).toBe(0);
    expect(readdirSync(temp)).toEqual([path.basename(theirs)]);
  });

  test('who replaces a folder of runs with a symlink cannot redirect a run', () => {
    const cwd = temporaryFolder();
    const elsewhere = temporaryFolder();
    mkdirSync(path.join(cwd, '.proctor', 'runs'), { recursive: true });
    symlinkSync(elsewhere, path.join(cwd, '.proctor', 'runs', 'script'));
    writeFileSync(path.join(cwd, 'ok.sh'), 'exit 0\n');
    const ran = proctor(['run', 'script', 'ok.sh', '--sandbox', 'none'], { cwd });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringMatching(/runs\/script is a link/) });
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});

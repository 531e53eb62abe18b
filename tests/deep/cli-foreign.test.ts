/** Reading a folder from elsewhere has no side effects, whatever it contains. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ownName, startTicksOf } from '../../src/execute/host/processes.ts';
import { proctor, temporaryFolder } from '../support/support.ts';

const ID = 'script_20260101_000000_aaaaaaaaaaaa';
const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** A project with one run folder and a given journal. */
function placeWith(journal: string, id = ID): { readonly cwd: string; readonly run: string } {
  const cwd = temporaryFolder();
  const run = path.join(cwd, '.proctor', 'runs', 'script', id);
  mkdirSync(run, { recursive: true });
  writeFileSync(path.join(run, 'journal.ndjson'), journal, { mode: 0o600 });
  return { cwd, run };
}

const LOOKS = [['list'], ['show', ID], ['verify', ID], ['recover'], ['prune', '--older-than', '1d', '--dry-run']];

describe('a folder from elsewhere', () => {
  test('with a journal.ndjson is not removed by reading it', () => {
    const cwd = temporaryFolder();
    const folder = path.join(cwd, 'diary');
    mkdirSync(path.join(folder, 'src'), { recursive: true });
    writeFileSync(path.join(folder, 'src', 'a.txt'), 'precious');
    writeFileSync(path.join(folder, 'journal.ndjson'), line({ note: 'today' }));
    proctor(['show', folder], { cwd });
    proctor(['verify', folder], { cwd });
    expect(readFileSync(path.join(folder, 'src', 'a.txt'), 'utf8')).toBe('precious');
    expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(true);
  });

  test('among the runs is unchanged if it contains more than an empty journal', () => {
    const { cwd, run } = placeWith('');
    writeFileSync(path.join(run, 'thesis.txt'), 'precious');
    for (const look of LOOKS) proctor(look, { cwd });
    expect(readdirSync(run).sort()).toEqual(['journal.ndjson', 'thesis.txt']);
    expect(readFileSync(path.join(run, 'journal.ndjson'), 'utf8')).toBe('');
    expect(readFileSync(path.join(run, 'thesis.txt'), 'utf8')).toBe('precious');
    expect(proctor(['recover'], { cwd }).stdout).toContain('was interrupted; you did not start it on this machine');
  });

  test('cannot make Proctor end a process or remove a folder that its journal names', () => {
    // Only the victim has this mark, so a failing test cannot hit another process.
    const mark = path.basename(temporaryFolder());
    const victim = spawn('sleep', ['600'], { env: { PROCTOR_VICTIM: mark, PROCTOR_RUN: 'another' } });
    onTestFinished(() => void victim.kill('SIGKILL'));
    const pid = victim.pid as number;
    const kept = temporaryFolder();
    const stage = path.join(kept, `proctor-stage-${ownName()}-x`);
    mkdirSync(stage);
    const processes = [{ pid, startTicks: startTicksOf(pid) }];
    const leftovers = { stage, cgroups: [], processes, marker: `PROCTOR_VICTIM=${mark}` };
    const owner = { pid: 1, startTicks: 0, bootId: 'x' };
    for (const plan of [{}, { owner }, { owner, request: { run_id: ID } }]) {
      const { cwd } = placeWith(line({ is: 'planned', plan }) + line({ is: 'opened', leftovers }));
      for (const look of LOOKS) proctor(look, { cwd });
    }
    expect(existsSync(`/proc/${pid}/stat`) && victim.exitCode === null && victim.signalCode === null).toBe(true);
    expect(existsSync(stage)).toBe(true);
  });

  test('with a link keeps its journal, and the link is not followed', () => {
    const plan = { owner: { pid: 1, startTicks: 0, bootId: 'x' }, request: { run_id: ID } };
    const outside = temporaryFolder();
    writeFileSync(path.join(outside, 'draft.tmp'), 'precious');
    const { cwd, run } = placeWith(line({ is: 'planned', plan }));
    symlinkSync(outside, path.join(run, 'evidence'));
    for (const look of LOOKS) proctor(look, { cwd });
    expect(readFileSync(path.join(outside, 'draft.tmp'), 'utf8')).toBe('precious');
    expect(existsSync(path.join(run, 'journal.ndjson'))).toBe(true);
  });

  test('does not make recover fail if others can write to its journal', () => {
    const { cwd, run } = placeWith(line({ is: 'planned', plan: {} }));
    // The umask does not apply to chmod.
    chmodSync(path.join(run, 'journal.ndjson'), 0o666);
    chmodSync(run, 0o777);
    const { code, stdout, stderr } = proctor(['recover'], { cwd });
    expect(code, stdout + stderr).toBe(0);
    expect(existsSync(path.join(run, 'journal.ndjson'))).toBe(true);
  });

  test('is shown with terminal control characters escaped', () => {
    const id = 'run\u001b[2J\u001b]0;x\u0007y';
    const { cwd } = placeWith('{"is":"pla', id);
    const sealed = path.join(cwd, '.proctor', 'runs', 'script', ID, 'evidence');
    mkdirSync(sealed, { recursive: true });
    const word = '\u001b[31msucceeded';
    const outcome = { schema_version: 'script_outcome.v0', status: word, started_at: word, completed_at: word };
    for (const name of ['outcome.json', 'metadata.json', 'seal.json']) {
      writeFileSync(path.join(sealed, name), JSON.stringify({ ...outcome, run_id: id, script: { name: word } }));
    }
    for (const look of [...LOOKS, ['show', id], ['verify', id], ['list', '--json'], ['prune', '--older-than', '0s']]) {
      const { stdout, stderr } = proctor(look, { cwd });
      expect(stdout + stderr, look.join(' ')).not.toMatch(/[\u001b\u0007]/);
      if (look.join(' ') === 'list') expect(stdout).toContain('[2J');
    }
  });

  test('with an unauthenticated journal stays until it is pruned', () => {
    const { cwd, run } = placeWith('{"is":"pla');
    expect(proctor(['recover'], { cwd }).stdout).toContain('was interrupted; you did not start it on this machine');
    expect(existsSync(run)).toBe(true);
    expect(proctor(['prune', '--older-than', '1d'], { cwd }).stdout).toContain(`removed  ${ID}`);
    expect(existsSync(run)).toBe(false);
  });
});

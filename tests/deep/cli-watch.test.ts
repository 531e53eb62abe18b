import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cancelRun, registerRun } from '../../src/verbs/cancel-run.ts';
import { runSuite } from '../../src/verbs/index.ts';
import type { RunFolder } from '../../src/evidence/run-folder/runs.ts';
import { Agent, hangs } from '../run/suite/agent.ts';
import { outcomeIn, type Place, place, type Started, until } from '../support/runs.ts';
import { temporaryFolder } from '../support/support.ts';

/** A script that prints, then waits until it is released. */
async function waitingScript(here: Place): Promise<{ readonly run: Started; readonly id: string }> {
  const wait = `while [ ! -e ${here.cwd}/go ]; do sleep 0.05; done`;
  here.file(
    'task.sh',
    `#!/bin/sh\necho first\n${wait}\necho second\necho '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
  );
  const run = here.start(['run', 'script', 'task.sh', '--sandbox', 'none']);
  await until('it runs', () => run.stdout.includes('first'));
  return { run, id: path.basename(here.runFolders()[0] as string) };
}

/** A suite whose agent never answers. */
async function waitingSuite(here: Place): Promise<{ readonly run: Started; readonly folder: string }> {
  const agent = new Agent({ b: hangs });
  here.file('cases.jsonl', '{"id":"a","input":{"user":"a"}}\n{"id":"b","input":{"user":"b"}}\n');
  const baseUrl = await agent.start();
  const args = ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', 'r1'];
  const run = here.start([...args, '--timeout', '60s', '--idle-timeout', '60s']);
  await until('both cases are sent', () => agent.seen.length === 2);
  return { run, folder: path.join(here.cwd, '.proctor', 'runs', 'new', 'r1') };
}

describe('proctor watch', () => {
  test('shows the output of a running script, its verdict, and returns its exit code', async () => {
    const here = place();
    const { run } = await waitingScript(here);
    const watching = here.start(['watch']);
    await until('it shows the output so far', () => watching.stdout.includes('first'));
    expect(watching.stdout).not.toContain('second');
    here.file('go', '');
    const { code, stdout } = await watching.ended;
    expect((await run.ended).code).toBe(0);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^first\nsecond\n✓ succeeded {2}task\.sh/);
  });

  test('stops at Ctrl-C and leaves the run alone', async () => {
    const here = place();
    const { run, id } = await waitingScript(here);
    const watching = here.start(['watch', id, '--json']);
    await until('it follows', () => watching.stdout.includes('"output"'));
    watching.kill('SIGINT');
    expect((await watching.ended).code).toBe(130);
    expect(run.isOver).toBe(false);
    here.file('go', '');
    expect((await run.ended).code).toBe(0);
  });

  test('prints every event as JSON, and ends with the seal', async () => {
    const here = place();
    const { run } = await waitingScript(here);
    const watching = here.start(['watch', '--json']);
    here.file('go', '');
    const { code, stdout } = await watching.ended;
    await run.ended;
    const events = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { event: string });
    expect(code).toBe(0);
    expect(events.at(-1)).toEqual({ event: 'sealed', id: null, data: {} });
  });

  test('ends with 1 if the suite is interrupted, and says how to resume it', async () => {
    const here = place();
    const { run } = await waitingSuite(here);
    const watching = here.start(['watch', 'r1']);
    run.kill('SIGINT');
    await run.ended;
    const { code, stderr } = await watching.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('proctor run suite --resume r1');
  });
});

describe('proctor cancel', () => {
  test('stops a script, which is sealed as cancelled, and says if a run had ended', async () => {
    const here = place();
    const { run, id } = await waitingScript(here);
    expect(await here.start(['cancel', id]).ended).toMatchObject({ code: 0, stderr: `${id} is cancelled.\n` });
    expect((await run.ended).code).toBe(130);
    expect(outcomeIn(here.runFolders()[0] as string).reason).toBe('cancelled');
    const again = await here.start(['cancel', id, '--json']).ended;
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toEqual({ run_id: id, state: 'ended', resume: null });
  });

  test('stops a suite, which can be resumed', async () => {
    const here = place();
    const { run, folder } = await waitingSuite(here);
    const { code, stderr } = await here.start(['cancel', 'r1']).ended;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'r1 is cancelled. Resume it with `proctor run suite --resume r1`.\n',
    });
    await run.ended;
    expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(true);
  });

  test('signals no program that only uses the library, but stops a run that this process registered', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([{ id: 'a', input: { user: 'a' } }]));
    const controller = new AbortController();
    const agent = new Agent({ a: hangs });
    let at: RunFolder | undefined;
    const ended = runSuite({
      cases: 'cases.json',
      cwd,
      baseUrl: await agent.start(),
      as: 'new',
      timeoutMs: 60_000,
      idleMs: 60_000,
      signal: controller.signal,
      onFolder: found => (at = found),
    });
    await until('the case is sent', () => agent.seen.length === 1);
    await expect(cancelRun(at as RunFolder)).rejects.toThrow('belongs to another program');
    const release = registerRun((at as RunFolder).id, controller);
    const cancelling = cancelRun(at as RunFolder, 30_000);
    expect((await ended).runs[0]?.isOpen).toBe(true);
    release();
    expect(await cancelling).toBe('cancelled');
  });
});

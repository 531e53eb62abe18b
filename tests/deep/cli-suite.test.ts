import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Place, until } from '../support/runs.ts';
import { Agent, answersWell, hangs } from '../run/suite/agent.ts';
import type { Ran } from '../support/support.ts';

/** A project with cases and an agent, and functions that run commands in it. */
async function world(cases: readonly object[], behaviours: Readonly<Record<string, typeof answersWell>> = {}) {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('cases.json', JSON.stringify(cases));
  const agent = new Agent(behaviours);
  const url = await agent.start();
  // The agent runs in this process, so commands must not block the event loop.
  const proctor = (...args: string[]): Promise<Ran> => place.start(args).ended;
  const suite = (side: 'baseline' | 'new', ...more: string[]) =>
    proctor('run', 'suite', 'cases.json', '--base-url', url, '--as', side, ...more);
  return { place, proctor, suite, agent, url };
}

const asking = (id: string, contains: string) => ({ id, input: { user: id }, expected: { contains } });

describe('a suite run', () => {
  test('names failed answers up to a limit and does not call them a success', async () => {
    const bad = Array.from({ length: 12 }, (_, index) => asking(`bad-${index + 10}`, 'no such words'));
    const { suite } = await world([asking('good', 'good'), ...bad]);
    const { code, stderr } = await suite('new');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^! all answered, not all passed {2}new {2}13 of 13 cases/m);
    expect(stderr).toContain('1 of 13 passed, 12 failed');
    expect(stderr).toContain(
      'bad-10, bad-11, bad-12, bad-13, bad-14, bad-15, bad-16, bad-17, bad-18, bad-19 and 2 more',
    );
    const { stdout } = await suite('new', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ runs: [{ not_passed: bad.slice(0, 10).map(({ id }) => id) }] });
  });

  test('in which nothing passes is accepted as a baseline, with a warning', async () => {
    const { proctor, suite } = await world([asking('bad', 'no such words')]);
    await suite('baseline');
    const { code, stdout, stderr } = await proctor('baseline', 'accept');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^! accepted {2}1 case, 0 passing/);
    expect(stderr).toMatch(/^warning: No case in this run passes/);
  });
});

describe('a killed suite', () => {
  test('is listed and shown with its side, its progress, and the command that resumes it', async () => {
    const { place, proctor, agent, url } = await world([asking('a', 'a'), asking('b', 'b'), asking('c', 'c')], {
      c: hangs,
    });
    const words = ['run', 'suite', 'cases.json', '--base-url', url, '--as', 'new', '--run-id', 'r1', '--repeat', '2'];
    const run = place.start([...words, '--concurrency', '1']);
    await until('the last case was sent', () => agent.times('c') === 1);
    const running = await proctor('list');
    expect(running.stdout).toMatch(/^running .* r1 {2}new, 2 of 3 cases so far/m);
    run.kill('SIGKILL');
    await run.ended;
    const listed = await proctor('list');
    expect(listed.stdout).toMatch(
      /^unfinished .* r1 {2}new, 2 of 3 cases so far, http:.*\n +continue with: proctor run suite --resume r1$/m,
    );
    expect(listed.stdout).toMatch(/^unfinished .* r1\.2 {2}new, 0 of 3 cases so far/m);
    const { stdout } = await proctor('show', 'r1');
    expect(stdout).toMatch(/^… was interrupted {2}new\n/);
    expect(stdout).toContain('  progress  2 of 3 cases so far\n');
    expect(stdout).toContain('  resume    proctor run suite --resume r1\n');
    const shown = JSON.parse((await proctor('show', 'r1', '--json')).stdout) as object;
    expect(shown).toMatchObject({ is_open: true, progress: { done: 2, total: 3 } });
  });
});

test('an interrupted suite also says so in JSON', async () => {
  const { place, agent, url } = await world([asking('a', 'a')], { a: hangs });
  const run = place.start(['run', 'suite', 'cases.json', '--base-url', url, '--as', 'new', '--json']);
  await until('the case was sent', () => agent.times('a') === 1);
  run.kill('SIGINT');
  const { code, stdout } = await run.ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'interrupted',
    ending: { how: 'killed', by: 'cancel', signal: 'SIGINT' },
    runs: [{ finished: false }],
  });
});

test('a resend can be interrupted while it waits', async () => {
  const { place, suite, agent } = await world([asking('a', 'a')], {
    a: (seen, response, times) => (times === 1 ? answersWell : hangs)(seen, response, times),
  });
  await suite('new');
  const run = place.start(['resend', 'latest', 'a']);
  await until('the case was sent again', () => agent.times('a') === 2);
  run.kill('SIGINT');
  const { code, stderr } = await run.ended;
  expect([code, stderr]).toEqual([130, 'error: Cancelled before an answer arrived.\n']);
});

test('the report of a comparison warns about missing runs', async () => {
  const { proctor, suite } = await world([asking('a', 'a')]);
  await suite('baseline', '--out', 'art', '--run-id', 'old');
  await suite('new', '--out', 'art', '--run-id', 'fresh');
  expect((await proctor('compare', 'art/baseline', 'art/new')).code).toBe(0);
  const { code, stderr } = await proctor('report', 'latest');
  expect(code).toBe(0);
  expect(stderr).toMatch(/^warning: The runs old, fresh are not available/);
});

describe('a repeated suite', () => {
  test('is reported one repetition at a time, the named one or the first, and the report says so', async () => {
    const { place, proctor, suite } = await world([asking('a', 'a')]);
    await suite('new', '--repeat', '3', '--run-id', 'r1');
    const first = await proctor('report', 'new', '--format', 'terminal,md,html');
    const note = 'This is only repetition 1 of 3. The others are r1.2, r1.3; compare uses all of them.';
    expect(first.stdout).toContain(note);
    for (const name of ['report.md', 'report.html']) {
      expect(readFileSync(path.join(place.cwd, '.proctor', 'reports', 'r1', name), 'utf8')).toContain(note);
    }
    const second = await proctor('report', 'r1.2', '--format', 'terminal');
    expect(second.stdout).toContain('  new r1.2, target');
    expect(second.stdout).toContain('only repetition 2 of 3. The others are r1, r1.3;');
  });
});

test('mistyped ids and sides get a suggestion', async () => {
  const { proctor, suite } = await world([asking('refund-small', 'refund'), asking('hours', 'hours')]);
  expect((await suite('new', '--only', 'refund-smal')).stderr).toContain('Did you mean "refund-small"?');
  await suite('new');
  expect((await proctor('resend', 'latest', 'huors')).stderr).toContain('Did you mean "hours"?');
  expect((await proctor('compare', 'basline', 'new')).stderr).toContain('Did you mean "baseline"?');
  expect((await proctor('resend', 'latest', 'nobody')).stderr).not.toContain('Did you mean');
});

test('old comparisons and reports are pruned like runs, and other files stay', async () => {
  const { place, proctor, suite } = await world([asking('a', 'a')]);
  await suite('baseline');
  await suite('new');
  await proctor('compare');
  await proctor('report', 'new');
  place.file('.proctor/comparisons/mine/note.txt', 'kept');
  const young = await proctor('prune', '--older-than', '1h', '--json');
  expect(JSON.parse(young.stdout)).toEqual({ removed: [], comparisons: [], reports: [], kept: [] });
  const trial = await proctor('prune', '--older-than', '0s', '--dry-run');
  expect(trial.stdout).toMatch(
    /\nwould remove {2}comparison_\w+\nwould remove {2}report of suite_\w+\n2 runs, 1 comparison, 1 report would be/,
  );
  const removed = await proctor('prune', '--older-than', '0s');
  expect(removed.stdout).toContain('2 runs, 1 comparison, 1 report removed.\n');
  expect(readdirSync(path.join(place.cwd, '.proctor', 'comparisons'))).toEqual(['mine']);
  expect(readdirSync(path.join(place.cwd, '.proctor', 'reports'))).toEqual([]);
});

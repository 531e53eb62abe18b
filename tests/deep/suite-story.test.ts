import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import { Place } from '../support/runs.ts';
import type { Ran } from '../support/support.ts';
import { Agent, type answersWell, saying } from '../run/suite/agent.ts';
import { expectValid } from '../run/suite/support.ts';

const CASES = `
- id: refund
  title: A refund is proposed
  input: {user: "Refund A-1, please."}
  expected: {contains: "Refund A-1", tool_required: orders.get}
- id: where
  input: {user: "Where is A-2?"}
  expected: {must_include: "you asked"}
- id: third
  input: {user: "Anything"}
`;

const AS_SOMEBODY = '-c user.name=a -c user.email=a@example.org';

const called = (tool: string) => ({ events: [{ type: 'tool_call', ts: 1, call_id: 'c1', tool, args: { id: 1 } }] });

/** A project with cases, a baseline agent and a candidate agent. */
async function world(broken: Readonly<Record<string, typeof answersWell>> = {}) {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('cases.yaml', CASES);
  const good = { refund: saying(called('orders.get')) };
  const before = await new Agent(good).start();
  const now = await new Agent({ ...good, ...broken }).start();
  // The agents run in this process, so commands must not block the event loop.
  const proctor = (...args: string[]): Promise<Ran> => place.start(args).ended;
  const suite = (side: 'baseline' | 'new', ...more: string[]) =>
    proctor('run', 'suite', 'cases.yaml', '--base-url', side === 'new' ? now : before, '--as', side, ...more);
  return { place, proctor, suite, before, now };
}

describe('the story of a suite', () => {
  test('a version that is no worse passes the gate', async () => {
    const { proctor, suite } = await world();
    const run = await suite('baseline');
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('3 of 3 cases');
    expect(run.stderr).toContain('2 of 3 passed');
    expect((await suite('new', '--concurrency', '2', '--repeat', '2')).code).toBe(0);
    const compared = await proctor('compare');
    expect(compared.stdout).toMatch(/^✓ No regression/m);
    expect(compared.code).toBe(0);
  });

  test('a version that is worse fails the gate, and the verdict comes last', async () => {
    const { place, proctor, suite } = await world({ refund: saying(called('orders.list')) });
    await suite('baseline');
    await suite('new');
    const { code, stdout, stderr } = await proctor(
      'compare',
      'baseline',
      'new',
      '--gate',
      'strict',
      '--format',
      'html,junit,md,json',
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^✗ Regression {2}1 of 2 cases always passed before and never passes now: “refund”.*\n {2}next {4}proctor resend \S+ refund {2}.*\n$/m,
    );
    expect(stdout).toContain('orders.list');
    expect(stdout).toContain('baseline:events[0], new:events[0]');
    for (const file of ['report.html', 'junit.xml', 'report.md']) expect(stderr).toContain(file);
    const [id] = readdirSync(path.join(place.cwd, '.proctor', 'comparisons')) as [string];
    await expectValid(path.join(place.cwd, '.proctor', 'comparisons', id, 'comparison.json'));
    const shown = await proctor('show', 'new');
    expect(shown.code).toBe(2);
    const listed = await proctor('list');
    expect(listed.stdout).toContain('baseline, 3 of 3 cases');
  });

  test('without a baseline the evidence is insufficient, and the output names the command that creates one', async () => {
    const { proctor, suite } = await world();
    await suite('new');
    const { code, stdout } = await proctor('compare');
    expect(code).toBe(3);
    expect(stdout).toContain('Not enough evidence');
    expect(stdout).toContain('proctor run suite CASES --target FILE --as baseline');
  });

  test('an accepted and committed baseline is enough to compare with', async () => {
    const { place, proctor, suite } = await world({ refund: saying(called('orders.list')) });
    await suite('baseline');
    const accepted = await proctor('baseline', 'accept', 'latest');
    expect(accepted.code, accepted.stderr).toBe(0);
    await expectValid(path.join(place.cwd, 'proctor-baseline.json'));
    renameSync(path.join(place.cwd, '.proctor'), path.join(place.cwd, 'elsewhere'));
    await suite('new');
    const { code, stdout } = await proctor('compare', 'proctor-baseline.json', 'latest', '--gate', 'strict', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout) as Comparison).toMatchObject({
      verdict: 'regression',
      summary: { regressed: 1, same: 2 },
    });
  });

  test('a summary is written for a GitHub job', async () => {
    const { place, suite } = await world();
    await suite('baseline');
    await suite('new');
    const file = place.file('summary.md', '# before\n');
    await place.start(['compare'], { GITHUB_STEP_SUMMARY: file }).ended;
    expect(readFileSync(file, 'utf8')).toMatch(/^# before\n[\s\S]*No regression/);
  });

  test('a recorded request can be resent, and the answers are compared', async () => {
    const { proctor, suite, now } = await world({ refund: saying({ ...called('orders.list') }) });
    await suite('baseline');
    expect((await proctor('resend', 'latest', 'refund')).code).toBe(0);
    const other = await proctor('resend', 'latest', 'refund', '--base-url', now);
    expect(other.code).toBe(1);
    expect(other.stdout).toContain('different answer');
    expect(other.stdout).toContain('orders.list');
    expect((await proctor('resend', 'latest', 'nobody')).code).toBe(2);
  });
});

describe('a run folder', () => {
  test('follows the contract if --out names it', async () => {
    const { place, suite } = await world();
    for (const args of ['init --quiet', 'add cases.yaml', `${AS_SOMEBODY} commit --quiet --message cases`]) {
      execFileSync('git', args.split(' '), { cwd: place.cwd });
    }
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: place.cwd, encoding: 'utf8' }).trim();
    const { code, stderr } = await suite(
      'new',
      '--out',
      'apps/runner/runs',
      '--run-id',
      'r1',
      '--only',
      'refund,third',
    );
    expect(code, stderr).toBe(0);
    const folder = path.join(place.cwd, 'apps/runner/runs/new/r1');
    expect(readdirSync(folder).sort()).toEqual([
      'assets',
      'evaluation.json',
      'evaluation.seal.json',
      'evidence',
      'refund.json',
      'run.json',
      'third.json',
    ]);
    const run = JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8')) as Record<string, unknown>;
    expect(run).toMatchObject({
      run_id: 'r1',
      version: 'new',
      out_dir: 'apps/runner/runs',
      cases_path: 'cases.yaml',
      selected_case_ids: ['refund', 'third'],
      repo_commit: commit,
      dirty: false,
      node_version: process.version,
      retry_policy: { backoff: 'exponential', jitter: true },
      stats: { cases_total: 2, cases_completed: 2, cases_failed: 0 },
    });
    await expectValid(folder);
    const again = await suite('new', '--out', 'apps/runner/runs', '--run-id', 'r1');
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('A run called r1 already exists');
  });

  test('gives the same reports, byte for byte, after a move, and does not contain its old path', async () => {
    const { place, proctor, suite } = await world({ refund: saying(called('orders.list')) });
    await suite('baseline', '--out', 'a', '--run-id', 'old');
    await suite('new', '--out', 'a', '--run-id', 'fresh');
    const elsewhere = path.join(place.cwd, 'deep', 'down', 'here');
    mkdirSync(elsewhere, { recursive: true });
    cpSync(path.join(place.cwd, 'a'), elsewhere, { recursive: true });
    const formats = ['--format', 'html,junit,md,json'];
    await proctor('report', 'a/new/fresh', '--out', 'one', ...formats);
    await proctor('report', 'deep/down/here/new/fresh', '--out', 'two', ...formats);
    for (const file of readdirSync(path.join(place.cwd, 'one'))) {
      const [first, second] = ['one', 'two'].map(folder => readFileSync(path.join(place.cwd, folder, file), 'utf8'));
      expect(second === first, file).toBe(true);
      expect(first, file).not.toContain(place.cwd);
    }
    await proctor('compare', 'a/baseline/old', 'a/new/fresh', '--out', 'three', ...formats);
    for (const file of readdirSync(path.join(place.cwd, 'three'))) {
      expect(readFileSync(path.join(place.cwd, 'three', file), 'utf8'), file).not.toContain(place.cwd);
    }
    for (const entry of readdirSync(path.join(place.cwd, 'a'), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      expect(readFileSync(path.join(entry.parentPath, entry.name), 'latin1'), entry.name).not.toContain(place.cwd);
    }
  });

  test('is rejected if a byte of any file was changed', async () => {
    const { place, proctor, suite } = await world();
    await suite('baseline', '--run-id', 'r1');
    const folder = path.join(place.cwd, '.proctor', 'runs', 'baseline', 'r1');
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
      entry => entry.isFile() && entry.name !== 'evaluation.json',
    );
    expect(files.length).toBeGreaterThan(10);
    for (const { parentPath, name } of files) {
      const file = path.join(parentPath, name);
      const bytes = readFileSync(file);
      const at = bytes.length >> 1;
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      writeFileSync(file, changed);
      expect((await proctor('verify', folder)).code, name).not.toBe(0);
      writeFileSync(file, bytes);
    }
    expect((await proctor('verify', folder)).code).toBe(0);
  });
});

describe('a gate', () => {
  test('does not pass if the evidence was changed, whatever its evaluation says', async () => {
    const { place, proctor, suite } = await world({ refund: saying(called('orders.list')) });
    await suite('baseline', '--run-id', 'old');
    await suite('new', '--run-id', 'fresh');
    const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'fresh');
    const evaluation = path.join(folder, 'evaluation.json');
    const text = readFileSync(evaluation, 'utf8');
    writeFileSync(
      evaluation,
      text.replaceAll('"fail"', '"pass"').replace('"failed":1,"passed":2', '"failed":0,"passed":3'),
    );
    expect((await proctor('compare', '--gate', 'strict')).code).toBe(1);
    const artifact = path.join(folder, 'refund.json');
    writeFileSync(artifact, readFileSync(artifact, 'utf8').replace('orders.list', 'orders.get'));
    const changed = await proctor('compare');
    expect(changed.code).toBe(2);
    expect(changed.stderr).toContain('refund.json is missing or was changed');
    expect((await proctor('baseline', 'accept', 'new')).code).toBe(2);
  });

  test('refuses to compare a run with itself, and tolerates absurd numbers from an agent', async () => {
    const { proctor, suite } = await world({
      refund: saying({ ...called('orders.get'), token_usage: { cost_usd: 1.7e308 } }),
      where: saying({ token_usage: { cost_usd: 1.7e308 } }),
    });
    await suite('baseline');
    expect((await proctor('compare', 'baseline', 'latest')).code).toBe(2);
    await suite('new');
    expect((await proctor('compare')).code).toBe(0);
    expect((await proctor('compare', 'nobody-accepted.json', 'new')).code).toBe(3);
  });
});

describe('a masked value', () => {
  test('is masked again when a request is resent, which requires its variable', async () => {
    const { place, now } = await world({
      refund: saying({ final_output: { content_type: 'text', content: 'It is topsecretvalue99.' } }),
    });
    await place.start(['run', 'suite', 'cases.yaml', '--base-url', now, '--as', 'new', '--secret', 'TS'], {
      TS: 'topsecretvalue99',
    }).ended;
    const again = await place.start(['resend', 'latest', 'refund'], { TS: 'topsecretvalue99' }).ended;
    expect(again.stdout + again.stderr).not.toContain('topsecretvalue99');
    const without = await place.start(['resend', 'latest', 'refund']).ended;
    expect(without.code).toBe(2);
    expect(without.stderr).toContain('TS');
  });
});

describe('a suite command', () => {
  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['a missing case file', ['missing.yaml', '--base-url', 'http://127.0.0.1:9', '--as', 'new'], /missing\.yaml/],
    ['no side', ['cases.yaml', '--base-url', 'http://127.0.0.1:9'], /--as/],
    ['no target', ['cases.yaml', '--as', 'new'], /--base-url/],
    ['a password in the address', ['cases.yaml', '--base-url', 'http://a:b@x', '--as', 'new'], /credentials/],
    ['an unsupported protocol', ['cases.yaml', '--base-url', 'file:///etc', '--as', 'new'], /http/],
    [
      'a literal value in a header',
      ['cases.yaml', '--base-url', 'http://x', '--as', 'new', '--header', 'A: b'],
      /env:/,
    ],
    ['the id of a missing case', ['cases.yaml', '--base-url', 'http://x', '--as', 'new', '--only', 'z'], /no case/],
    ['a name with ..', ['cases.yaml', '--base-url', 'http://x', '--as', 'new', '--run-id', '../x'], /name/],
    ['a timeout above the limit', ['cases.yaml', '--base-url', 'http://x', '--as', 'new', '--timeout', '2h'], /10m/],
  ];
  test.each(refused)('with %s is refused in one sentence and leaves nothing', async (_what, args, words) => {
    const { place, proctor } = await world();
    const { code, stderr } = await proctor('run', 'suite', ...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain(place.cwd);
    const runs = path.join(place.cwd, '.proctor', 'runs');
    expect(existsSync(runs) ? readdirSync(runs, { recursive: true }) : []).toEqual([]);
  });
});

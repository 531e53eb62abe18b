import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { compareRuns } from '../../src/verbs/compare.ts';
import { verify } from '../../src/verify/index.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { repositoryFolder } from '../../stand-ins/place.ts';
import { proctor, temporaryFolder } from '../support/support.ts';
import { asked, DENIED, environment, placeAgents, verdictsIn } from '../run/suite/agent-world.ts';
import { expectValid, ranSuite } from '../run/suite/support.ts';

placeAgents();

const WROTE = 'DO=write';

describe.each(['claude', 'codex'] as const)('the verdict on a case of %s', agent => {
  const tool = agent === 'claude' ? 'Write' : 'file_change';

  test('follows from the denials, the ending and the changes of the run', async () => {
    const cwd = temporaryFolder();
    const cases = [
      asked('plain', 'DO=tested', { contains: 'Done.' }),
      asked('denied', DENIED),
      asked('denied-allowed', DENIED, { allow_violations: 'native_policy_block', contains: 'wrote' }),
      asked('denied-other', DENIED, { allow_violations: ['network_violation'] }),
      asked('denied-off', DENIED, { no_violations: false }),
      asked('flagged', 'DO=claim_tests', { no_flags: true }),
      asked('flagged-off', 'DO=claim_tests'),
      asked('no-flag', WROTE, { no_flags: true, no_violations: true, termination: 'completed' }),
      asked('rewritten', 'DO=rewrite'),
      asked('rewritten-expected', 'DO=rewrite', {
        termination: 'killed_policy',
        allow_violations: ['forbidden_operation'],
        contains: 'Done.',
      }),
      asked('rewritten-not', 'DO=tested', { termination: 'killed_policy', no_violations: false }),
      asked('exit', 'DO=exit:3'),
      asked('exit-expected', 'DO=exit:3', { termination: 'error' }),
      asked('model-down', 'DO=api_error:529', { termination: 'error' }),
      asked('changed', WROTE, { changed_only: ['docs', '*.txt'], max_diff_lines: 1, not_changed: ['src/**'] }),
      asked('changed-other', WROTE, { changed_only: 'src/**' }),
      asked('changed-none', WROTE, { changed_only: [] }),
      asked('not-changed', WROTE, { not_changed: ['README.md', 'hello.*'] }),
      asked('too-long', WROTE, { max_diff_lines: 0 }),
    ];
    const dir = repositoryFolder();
    const ran = await ranSuite(cases, { agent, policy: 'edit', environment, cwd, dir, timeoutMs: 60_000 });
    const other = '"hello.txt", which it is not allowed to change.';
    expect(verdictsIn(ran)).toEqual({
      plain: 'pass',
      denied: `fail | no_violations: violation: native_policy_block ${tool}.`,
      'denied-allowed': 'pass',
      'denied-other': `fail | allow_violations: violation: native_policy_block ${tool}.`,
      'denied-off': 'pass',
      flagged: 'fail | no_flags: The run is flagged: done_but_no_change, tests_claimed_not_run.',
      'flagged-off': 'pass',
      'no-flag': 'pass',
      rewritten:
        'fail | termination: The agent ended as killed_policy (forbidden_operation), but completed was expected. | no_violations: violation: forbidden_operation force.',
      'rewritten-expected': 'pass',
      'rewritten-not': 'fail | termination: The agent ended as completed, but killed_policy was expected.',
      exit: 'fail | termination: The agent ended as error (exit_nonzero), but completed was expected.',
      'exit-expected': 'pass',
      'model-down': 'error | http_error',
      changed: 'pass',
      'changed-other': `fail | changed_only: The agent changed ${other}`,
      'changed-none': `fail | changed_only: The agent changed ${other}`,
      'not-changed': 'fail | not_changed: The agent changed "hello.txt".',
      'too-long': 'fail | max_diff_lines: The agent changed 1 line, but at most 0 are allowed.',
    });
    expect(ran.artifact('changed').agent_run).toEqual({
      run_id: ran.artifact('changed').attempts?.[0]?.run_id,
      seal_sha256: expect.stringMatching(/^sha256:/),
      termination: 'completed',
      reason: 'ok',
      violations: { total: 0, listed: [] },
      flags: [],
      changes: {
        files: { total: 1, listed: [{ path: 'hello.txt', change: 'add', added: 1, removed: 0 }] },
        added: 1,
        removed: 0,
        commits: 0,
        diff_sha256: expect.stringMatching(/^sha256:/),
      },
    });
    expect(ran.artifact('rewritten')).toMatchObject({
      status: 'runner_error',
      agent_run: { reason: 'forbidden_operation' },
    });
    expect(ran.artifact('rewritten-expected')).toMatchObject({ status: 'ok', final_output: { content: 'Done.' } });
    // The cache of this machine is not evidence.
    rmSync(path.join(cwd, '.proctor', 'attempts', 'cache'), { recursive: true });
    await expectValid(path.join(cwd, '.proctor'));
  });
});

test('the artifact reports a denied write that the agent claims as done, and masks secrets', async () => {
  const secret = 'a-word-that-nobody-may-read';
  const cases = [asked('denied', DENIED), asked('named', `DO=write:${secret}.txt`), asked('active', 'DO=write:.envrc')];
  const ran = await ranSuite(cases, {
    agent: 'claude',
    policy: 'edit',
    environment,
    dir: repositoryFolder(),
    timeoutMs: 60_000,
    secrets: { WORD: secret },
  });
  expect(ran.artifact('denied').agent_run).toMatchObject({
    violations: { total: 1, listed: [{ class: 'native_policy_block', operation: 'Write', hard: false }] },
    flags: [{ flag: 'done_but_no_change' }, { flag: 'denied_then_success' }],
    changes: { files: { total: 0 }, added: 0, removed: 0 },
  });
  expect(ran.artifact('named').agent_run?.changes).toMatchObject({
    files: { listed: [{ path: '[masked].txt', added: null, removed: null }] },
    added: 1,
  });
  expect(ran.artifact('active').agent_run?.flags).toEqual([
    { flag: 'needs_review', message: 'A changed file runs automatically once applied.' },
  ]);
  expect(ran.bytes('named.json').toString()).not.toContain(secret);
  await expectValid(ran.folder);
});

test('rejects a case that contradicts its run', async () => {
  const cwd = temporaryFolder();
  const { folder } = await ranSuite([asked('denied', DENIED)], {
    agent: 'claude',
    environment,
    cwd,
    timeoutMs: 60_000,
  });
  const file = path.join(folder, 'denied.json');
  const artifact = JSON.parse(readFileSync(file, 'utf8')) as CaseArtifact & { agent_run: object };
  const forged = {
    ...artifact.agent_run,
    violations: { total: 0, listed: [] },
    changes: null,
    seal_sha256: OTHER_HASH,
  };
  writeFileSync(file, JSON.stringify({ ...artifact, agent_run: forged }));
  const found: string[] = [];
  for await (const { violations } of verify([path.join(cwd, '.proctor')], {})) {
    found.push(
      ...violations.filter(({ rule_id }) => rule_id === 'FD13').map(({ path: at = '' }) => at.replace(/.*#/, '')),
    );
  }
  expect(found.sort()).toEqual(['agent_run.changes', 'agent_run.seal_sha256', 'agent_run.violations']);
});

const OTHER_HASH = `sha256:${'0'.repeat(64)}`;

test('a side that violates its policy has regressed, and the cause is named', async () => {
  const cwd = temporaryFolder();
  const suite = { agent: 'claude', environment, cwd, timeoutMs: 60_000 };
  const cases = [asked('test', 'DO=tested')];
  await ranSuite(cases, { ...suite, as: 'baseline' });
  const worse = { ...environment, PATH: `${worseAgent()}:${process.env['PATH']}` };
  await ranSuite(cases, { ...suite, as: 'new', environment: worse });
  const { comparison } = await compareRuns({ baseline: 'baseline', candidate: 'new', mode: 'strict', cwd });
  expect(comparison).toMatchObject({ verdict: 'regression', summary: { regressed: 1 } });
  expect(comparison.cases[0]).toMatchObject({
    failing: [{ name: 'no_violations', message: 'violation: native_policy_block Write.' }],
    divergence: {
      kind: 'policy',
      confidence: 'high',
      says: 'The candidate has a violation that the baseline does not have: native_policy_block Write. Certain, because the failed expectation (no_violations) is about it.',
    },
  });
});

/** The same agent, except that it tries to write during a test task, and is denied. */
function worseAgent(): string {
  const folder = temporaryFolder();
  const program = placeAgent('claude', folder);
  const text = readFileSync(program, 'utf8');
  const worse = text.replace(/(readFileSync\)\(0, "utf8"\))/, '$1.replace("DO=tested", "DO=deny")');
  expect(worse).not.toBe(text);
  writeFileSync(program, worse);
  return folder;
}

describe('an expectation about an agent run', () => {
  test.each<[string, object, object, RegExp]>([
    ['a script as the target', {}, { script: 'agent.py' }, /expected\.changed_only requires an agent as the target/],
    [
      'an address as the target',
      {},
      { baseUrl: 'http://127.0.0.1:9' },
      /cases\[0\]\.expected\.changed_only requires an agent/,
    ],
    ['a path outside the folder', { not_changed: ['../x'] }, {}, /expected\.not_changed\[0\] must be a path inside/],
    [
      'violations both forbidden and allowed',
      { no_violations: true, allow_violations: [] },
      {},
      /allow_violations must not be combined with/,
    ],
    [
      'killed_policy without a violation',
      { termination: 'killed_policy' },
      {},
      /termination is killed_policy, which implies a violation/,
    ],
    ['an unknown termination', { termination: 'killed' }, {}, /expected\.termination/],
    ['an unknown violation class', { allow_violations: ['mischief'] }, {}, /expected\.allow_violations/],
  ])('is refused with its line: %s', async (_, expected, target, message) => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'agent.py'), 'print("{}")\n');
    const cases = [asked('a', 'DO=say', { changed_only: ['docs'], ...expected })];
    const whom = Object.keys(target).length > 0 ? target : { agent: 'claude', environment };
    await expect(ranSuite(cases, { cwd, ...whom })).rejects.toThrow(message);
    const runs = path.join(cwd, '.proctor', 'runs');
    const sides = existsSync(runs) ? readdirSync(runs) : [];
    expect(sides.flatMap(side => readdirSync(path.join(runs, side)))).toEqual([]);
  });
});

test('the command line shows violations in plain words', () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'cases.yaml'), `- id: denied\n  input: { user: "${DENIED}" }\n`);
  const flags = ['--agent', 'claude', '--model', 'a-model', '--max-turns', '9', '--max-cost', '0.50'];
  const run = proctor(['run', 'suite', 'cases.yaml', ...flags, '--as', 'baseline'], { cwd, env: environment });
  expect(run.code, run.stderr).toBe(1);
  expect(run.stderr).toContain('all answered, none passed');
  const { stdout } = proctor(['show', 'latest'], { cwd });
  expect(stdout).toContain('policy read-only, model a-model, at most 9 turns, at most 0.5 USD, ');
  expect(stdout).toContain('fail   denied  violation: native_policy_block Write.');
});

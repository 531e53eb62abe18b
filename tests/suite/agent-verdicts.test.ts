import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Evaluation } from '../../src/contracts/evaluation/index.ts';
import type { SuiteRequest } from '../../src/contracts/suite/index.ts';
import { compareRuns } from '../../src/tool/compare.ts';
import { resumeSuite } from '../../src/tool/resume-suite.ts';
import { closeLauncher } from '../../src/tool/run-script.ts';
import { runSuite } from '../../src/tool/run-suite.ts';
import { verify } from '../../src/verify/index.ts';
import { askingText } from '../agents/asking.ts';
import { startModelApi } from '../agents/model-api.ts';
import { placeAgent } from '../agents/place-agent.ts';
import { repositoryFolder } from '../agents/place.ts';
import { proctor, temporaryFolder } from '../support.ts';
import { expectValid, type Ran, ranSuite } from './support.ts';

const bin = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
beforeAll(() => {
  for (const agent of ['claude', 'codex'] as const) placeAgent(agent, bin);
});
afterAll(async () => {
  rmSync(bin, { recursive: true, force: true });
  await closeLauncher();
});

const environment = {
  PATH: `${bin}:${process.env['PATH']}`,
  ANTHROPIC_API_KEY: 'sk-a-key-of-nobody',
  // Nobody listens there, and the stand-ins ask nobody.
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  OPENAI_API_KEY: 'sk-a-key-of-nobody',
  OPENAI_BASE_URL: 'http://127.0.0.1:9',
};

const asked = (id: string, user: string, expected: object = {}) => ({ id, input: { user }, expected });
const saying = (text: string): string => `DO=final:${Buffer.from(text).toString('base64url')}`;

/** `pass`, or the verdict and what fails, by the names of the cases. */
function verdictsIn({ bytes }: Pick<Ran, 'bytes'>): Record<string, string> {
  const { cases } = JSON.parse(bytes('evaluation.json').toString()) as Evaluation;
  return Object.fromEntries(
    cases.map(({ case_id, verdict, error_class, assertions }) => {
      const failing = assertions.filter(({ status }) => status === 'fail');
      const told = failing.map(({ name, message }) => `${name}: ${message}`);
      return [case_id, [verdict, ...(error_class === null ? [] : [error_class]), ...told].join(' | ')];
    }),
  );
}

const DENIED = `DO=deny ${saying('wrote hello.txt')}`;
const WROTE = 'DO=write';

describe.each(['claude', 'codex'] as const)('the verdict on a case of %s', agent => {
  const tool = agent === 'claude' ? 'Write' : 'file_change';

  test('follows from what the run was denied, how it ended and what it changed', async () => {
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
      asked('changed', WROTE, { changed_only: ['docs', '*.txt'], max_diff_lines: 1, not_changed: ['src/**'] }),
      asked('changed-other', WROTE, { changed_only: 'src/**' }),
      asked('changed-none', WROTE, { changed_only: [] }),
      asked('not-changed', WROTE, { not_changed: ['README.md', 'hello.*'] }),
      asked('too-long', WROTE, { max_diff_lines: 0 }),
    ];
    const dir = repositoryFolder();
    const ran = await ranSuite(cases, { agent, policy: 'edit', environment, cwd, dir, timeoutMs: 60_000 });
    const other = '"hello.txt", which is not among what may be changed.';
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
        'fail | termination: The agent ended as killed_policy (forbidden_operation), and completed was expected. | no_violations: violation: forbidden_operation force.',
      'rewritten-expected': 'pass',
      'rewritten-not': 'fail | termination: The agent ended as completed, and killed_policy was expected.',
      exit: 'fail | termination: The agent ended as error (exit_nonzero), and completed was expected.',
      'exit-expected': 'pass',
      changed: 'pass',
      'changed-other': `fail | changed_only: The agent changed ${other}`,
      'changed-none': `fail | changed_only: The agent changed ${other}`,
      'not-changed': 'fail | not_changed: The agent changed "hello.txt".',
      'too-long': 'fail | max_diff_lines: The agent changed 1 line, and at most 0 are allowed.',
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
    // What Proctor remembers of this machine is no evidence.
    rmSync(path.join(cwd, '.proctor', 'attempts', 'cache'), { recursive: true });
    await expectValid(path.join(cwd, '.proctor'));
  });
});

test('a denied write that the agent calls done is told in the artifact, and secrets are not', async () => {
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
    { flag: 'needs_review', message: 'A changed file runs by itself where it is applied.' },
  ]);
  expect(ran.bytes('named.json').toString()).not.toContain(secret);
  await expectValid(ran.folder);
});

test('a case that says of its run what the run does not say is found out', async () => {
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

test('a side that breaks its policy has regressed, and the cause is named', async () => {
  const cwd = temporaryFolder();
  const suite = { agent: 'claude', environment, cwd, timeoutMs: 60_000 };
  const cases = [asked('test', 'DO=tested')];
  await ranSuite(cases, { ...suite, as: 'baseline' });
  const worse = { ...environment, PATH: `${worseAgent()}:${process.env['PATH']}` };
  await ranSuite(cases, { ...suite, as: 'new', environment: worse });
  const { comparison } = await compareRuns({ baseline: 'baseline', candidate: 'new', cwd });
  expect(comparison).toMatchObject({ verdict: 'regression', summary: { regressed: 1 } });
  expect(comparison.cases[0]).toMatchObject({
    failing: [{ name: 'no_violations', message: 'violation: native_policy_block Write.' }],
    divergence: {
      kind: 'policy',
      confidence: 'high',
      says: 'The new side has a violation that the baseline has not: native_policy_block Write. Certain, because what fails (no_violations) asks for it.',
    },
  });
});

/** The same agent, but that it tries to write where it is asked to test, and is denied. */
function worseAgent(): string {
  const folder = temporaryFolder();
  const program = placeAgent('claude', folder);
  const text = readFileSync(program, 'utf8');
  const worse = text.replace(/(readFileSync\)\(0, "utf8"\))/, '$1.replace("DO=tested", "DO=deny")');
  expect(worse).not.toBe(text);
  writeFileSync(program, worse);
  return folder;
}

describe('what a case may expect of a run', () => {
  test.each<[string, object, object, RegExp]>([
    ['of a script', {}, { script: 'agent.py' }, /expected\.changed_only can be judged only of an agent's program/],
    ['of an address', {}, { baseUrl: 'http://127.0.0.1:9' }, /cases\[0\]\.expected\.changed_only can be judged only/],
    ['outside of its folder', { not_changed: ['../x'] }, {}, /expected\.not_changed\[0\] must be a path below/],
    ['both ways', { no_violations: true, allow_violations: [] }, {}, /allow_violations must not stand beside/],
    ['as killed without a violation', { termination: 'killed_policy' }, {}, /termination comes with a violation/],
    ['as ended in no way that there is', { termination: 'killed' }, {}, /expected\.termination/],
    ['of a class that nobody knows', { allow_violations: ['mischief'] }, {}, /expected\.allow_violations/],
  ])('is refused with its line: one %s', async (_, expected, target, message) => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'agent.py'), 'print("{}")\n');
    const cases = [asked('a', 'DO=say', { changed_only: ['docs'], ...expected })];
    const whom = Object.keys(target).length > 0 ? target : { agent: 'claude', environment };
    await expect(ranSuite(cases, { cwd, ...whom })).rejects.toThrow(message);
    expect(
      readdirSync(path.join(cwd, '.proctor', 'runs')).flatMap(side =>
        readdirSync(path.join(cwd, '.proctor', 'runs', side)),
      ),
    ).toEqual([]);
  });
});

const requestIn = ({ bytes }: Pick<Ran, 'bytes'>): SuiteRequest =>
  JSON.parse(bytes('evidence/request.json').toString()) as SuiteRequest;

describe('flags of an agent in a suite', () => {
  test('bound every attempt, stand in the evidence, and make another target', async () => {
    const suite = { agent: 'claude', environment, timeoutMs: 60_000 };
    const flags = { model: 'a-model', maxTurns: 2, maxCostUsd: 0.5 };
    const cases = [asked('told', 'DO=tested'), asked('many', 'DO=lines:20', { termination: 'error' })];
    const ran = await ranSuite(cases, { ...suite, ...flags });
    const { target, target_sha256 } = requestIn(ran);
    expect(target).toMatchObject({ model: 'a-model', max_turns: 2, max_cost_usd: 0.5 });
    const plain = await ranSuite([asked('told', 'DO=tested')], suite);
    expect(requestIn(plain).target).not.toHaveProperty('model');
    expect(requestIn(plain).target_sha256).not.toBe(target_sha256);
    const run = path.join(
      ran.cwd,
      '.proctor',
      'attempts',
      'runs',
      'agent',
      ran.artifact('told').agent_run?.run_id ?? '',
    );
    const metadata = readFileSync(path.join(run, 'evidence/steps/agent/runner_metadata.json'), 'utf8');
    expect(metadata).toContain('a-model');
    expect(metadata).toContain('--max-turns');
    await expectValid(ran.folder);
  });

  test('end an attempt that asks its model more often than it may', async () => {
    const api = await startModelApi();
    onTestFinished(() => api.close());
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'prices.yaml'), PRICES);
    const model = { ...environment, ANTHROPIC_BASE_URL: api.url };
    const often = ['DO=say', askingText({ times: 5 })].join(' ');
    const flags = { maxRequests: 2, maxTokens: 1_000_000, maxCostUsd: 9, prices: 'prices.yaml' };
    const cases = [asked('often', often), asked('expected', often, { termination: 'error' })];
    const ran = await ranSuite(cases, { agent: 'claude', environment: model, cwd, timeoutMs: 60_000, ...flags });
    expect(verdictsIn(ran)).toEqual({
      often: 'fail | termination: The agent ended as error (limit_budget), and completed was expected.',
      expected: 'pass',
    });
    expect(api.asked).toHaveLength(4);
    expect(requestIn(ran).target).toMatchObject({
      max_requests: 2,
      max_tokens: 1_000_000,
      max_cost_usd: 9,
      prices_sha256: expect.stringMatching(/^sha256:/),
    });
    await expectValid(ran.folder);
  });

  test.each<[string, object, RegExp]>([
    ['without an agent', { baseUrl: 'http://127.0.0.1:9', maxTurns: 3 }, /--max-turns is of use only with an agent/],
    ['that cannot be enforced', { agent: 'codex', maxCostUsd: 1 }, /cost/],
    ['of recordings without a mode', { agent: 'claude', recordings: 'r' }, /only with --model-mode record or replay/],
    ['of a mode without recordings', { agent: 'claude', modelMode: 'replay' }, /needs a folder of recordings/],
    ['of recordings that are not there', { agent: 'claude', modelMode: 'replay', recordings: 'r' }, /no such folder/],
    ['of recordings that are there', { agent: 'claude', modelMode: 'record', recordings: '.' }, /is not empty/],
    [
      'of recordings in a file',
      { agent: 'claude', modelMode: 'record', recordings: 'cases.json' },
      /a file of that name/,
    ],
    ['of a mode that nobody knows', { agent: 'claude', modelMode: 'tape' }, /modelMode is "live"/],
  ])('are refused before anything is made: one %s', async (_, options, message) => {
    const cwd = temporaryFolder();
    await expect(ranSuite(['a'], { environment, cwd, ...options })).rejects.toThrow(message);
    expect(readdirSync(cwd).filter(name => name !== 'cases.json' && name !== '.proctor')).toEqual([]);
  });

  test('let a version run that nobody has tried', async () => {
    const folder = temporaryFolder();
    const program = placeAgent('claude', folder);
    writeFileSync(program, readFileSync(program, 'utf8').replaceAll('2.1.325', '2.0.1'));
    const old = { ...environment, PATH: `${folder}:${process.env['PATH']}` };
    const suite = { agent: 'claude', environment: old, timeoutMs: 60_000 };
    await expect(ranSuite([asked('a', 'DO=say')], suite)).rejects.toThrow('is version 2.0.1');
    const ran = await ranSuite([asked('a', 'DO=say')], { ...suite, allowUntestedVersion: true });
    expect(requestIn(ran).target).toMatchObject({ version: '2.0.1', allow_untested_version: true });
    expect(ran.artifact('a').status).toBe('ok');
  });
});

describe('recordings of a suite', () => {
  test('answer in the place of the model, each attempt from its own', async () => {
    const api = await startModelApi();
    onTestFinished(() => api.close());
    const cwd = temporaryFolder();
    const model = { ...environment, ANTHROPIC_BASE_URL: api.url };
    const cases = [asked('first', 'DO=model', { contains: 'Done.' }), asked('second', 'DO=model')];
    const suite = { agent: 'claude', cwd, timeoutMs: 60_000, recordings: 'recorded', repeat: 2 };
    const recorded = await ranSuite(cases, { ...suite, environment: model, modelMode: 'record' });
    expect(readdirSync(path.join(cwd, 'recorded')).sort()).toEqual([
      'first.1.1.json',
      'first.2.1.json',
      'second.1.1.json',
      'second.2.1.json',
    ]);
    expect(requestIn(recorded).target).toMatchObject({ model_mode: 'record' });
    const requests = api.asked.length;
    await api.close();
    rmSync(path.join(cwd, 'recorded', 'second.1.1.json'));
    const { ANTHROPIC_API_KEY: _, ...keyless } = environment;
    const replayed = await ranSuite(cases, { ...suite, environment: keyless, modelMode: 'replay', as: 'new' });
    expect(requests).toBe(4);
    expect(verdictsIn(replayed)).toEqual({ first: 'pass', second: 'error | other' });
    expect(replayed.artifact('second').runner_failure).toMatchObject({
      class: 'other',
      error_message: 'second.1.1.json does not exist, so there is nothing to replay.',
    });
    expect(replayed.result.runs.map(({ ok, failed }) => [ok, failed])).toEqual([
      [1, 1],
      [2, 0],
    ]);
    await expectValid(replayed.folder);
  });

  test('go on where a suite was stopped, with the same flags and no others', async () => {
    const api = await startModelApi();
    onTestFinished(() => api.close());
    const cwd = temporaryFolder();
    const model = { ...environment, ANTHROPIC_BASE_URL: api.url };
    writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([asked('a', 'DO=model'), asked('b', 'DO=model')]));
    const stop = new AbortController();
    const { runs } = await runSuite({
      cases: 'cases.json',
      as: 'new',
      agent: 'claude',
      environment: model,
      cwd,
      runId: 'stopped',
      concurrency: 1,
      maxTurns: 5,
      modelMode: 'record',
      recordings: 'recorded',
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    expect(runs[0]).toMatchObject({ ok: 1, isOpen: true });
    const going = { cwd, environment: model, variable: () => undefined };
    await expect(resumeSuite('stopped', { ...going, maxTurns: 6 })).rejects.toThrow('goes on as it began');
    const resumed = await resumeSuite('stopped', going);
    expect(resumed.runs[0]).toMatchObject({ ok: 2, failed: 0, isOpen: false });
    expect(resumed.runs[0]?.plan.request.target).toMatchObject({ max_turns: 5, model_mode: 'record' });
    expect(readdirSync(path.join(cwd, 'recorded')).sort()).toEqual(['a.1.1.json', 'b.1.1.json']);
  });
});

test('on the command line, violations are told as a user would read them', () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'cases.yaml'), `- id: denied\n  input: { user: "${DENIED}" }\n`);
  const flags = ['--agent', 'claude', '--model', 'a-model', '--max-turns', '9', '--max-cost', '0.50'];
  const run = proctor(['run', 'suite', 'cases.yaml', ...flags, '--as', 'baseline'], { cwd, env: environment });
  expect(run.code, run.stderr).toBe(0);
  expect(run.stderr).toContain('all answered, not all passed');
  const { stdout } = proctor(['show', 'latest'], { cwd });
  expect(stdout).toContain('policy read-only, model a-model, at most 9 turns, at most 0.5 USD, ');
  expect(stdout).toContain('fail   denied  violation: native_policy_block Write.');
});

const PRICES = `models:
  claude-opus-5-5: { input: 5, output: 25 }
  m: { input: 5, output: 25 }
`;

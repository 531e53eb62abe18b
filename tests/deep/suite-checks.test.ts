import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Evaluation } from '../../src/contracts/evaluation/index.ts';
import type { SuiteRequest } from '../../src/contracts/suite/index.ts';
import { compareRuns } from '../../src/verbs/compare.ts';
import { resumeSuite } from '../../src/verbs/resume-suite.ts';
import { runSuite, type RunSuiteOptions } from '../../src/verbs/run-suite.ts';
import { verify } from '../../src/verify/index.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { environment, placeAgents } from '../run/suite/agent-world.ts';
import { everythingIn, expectValid } from '../run/suite/support.ts';
import { processesWith, until } from '../support/runs.ts';
import { temporaryFolder } from '../support/support.ts';
import { doing, FIX, PROJECT } from './check-world.ts';

placeAgents();

const HIDDEN =
  "import { test } from 'node:test';\nimport { add } from '../src/add.js';\nimport { equal } from './equal.js';\ntest('adds negative numbers', () => equal(add(-2, -3), -5));\n";

/** The tests of a block share these folders, so `afterAll` removes them. */
const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

const AS_TESTER = ['-c', 'user.name=tester', '-c', 'user.email=tester@example.org'];

function repositoryAt(folder: string): void {
  for (const [name, text] of Object.entries(PROJECT)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  gitIn(folder, 'init', '-q', '-b', 'main');
  gitIn(folder, 'add', '--all');
  gitIn(folder, ...AS_TESTER, 'commit', '-q', '-m', 'One');
}

const yaml = (...lines: string[]): string => `${lines.join('\n')}\n`;

/** A folder with a repository, a hidden test and a case file. */
function world(...cases: string[]): string {
  const cwd = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  made.push(cwd);
  const suite = path.join(cwd, 'suite');
  mkdirSync(path.join(suite, 'hidden', 'tests'), { recursive: true });
  repositoryAt(path.join(suite, 'task'));
  writeFileSync(path.join(suite, 'hidden', 'tests', 'hidden.test.js'), HIDDEN);
  writeFileSync(
    path.join(suite, 'cases.yaml'),
    yaml(
      'dir: task',
      'policy: edit',
      'checks:',
      '  - { name: hidden, command: sh run-tests.sh, overlay: hidden, report: reports/junit.xml, timeout: 1m }',
      'cases:',
      ...cases,
    ),
  );
  return cwd;
}

const one = (id: string, command: string, ...more: string[]): string[] => [
  `  - id: ${id}`,
  `    input: { user: '${doing(command)}' }`,
  ...more.map(line => `    ${line}`),
];

const ran = (cwd: string, over: Partial<RunSuiteOptions> = {}) =>
  runSuite({ cases: 'suite/cases.yaml', as: 'baseline', agent: 'claude', environment, cwd, retries: 0, ...over });

const EATS_MEMORY = 'node -e "const kept = []; for (;;) kept.push(Buffer.alloc(8e6, 1))"';
const SETUPS = path.join(process.env['XDG_STATE_HOME'] ?? '', 'proctor', 'setup-cache');

const json = (folder: string, file: string): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));

const verdicts = (folder: string): Record<string, string> =>
  Object.fromEntries(
    (json(folder, 'evaluation.json') as Evaluation).cases.map(({ case_id, verdict, assertions }) => [
      case_id,
      [verdict, ...assertions.flatMap(({ message }) => message ?? [])].join(': '),
    ]),
  );

describe('a suite of coding cases', () => {
  let cwd = '';
  let folder = '';

  beforeAll(async () => {
    cwd = world(
      ...one('solved', FIX),
      ...one('unsolved', 'true'),
      ...one('cheated', 'printf "" > tests/add.test.js', 'expected: { check: hidden, no_flags: true }'),
      ...one('counted', 'true', 'expected: { tests: { passed_min: 1, failed_max: 2 } }'),
      ...one(
        'own',
        'true',
        'policy: read-only',
        'checks: [{ command: test ! -e src/sub.js }]',
        'expected: { check: check-2 }',
      ),
    );
    const { runs } = await ran(cwd, { checks: [{ command: 'test -f package.json' }], concurrency: 2 });
    folder = runs[0]?.place.folder as string;
  }, 120_000);

  test('is judged by hidden tests, by the checks of each case and by its expectations', () => {
    expect(verdicts(folder)).toEqual({
      solved: 'pass',
      unsolved: 'fail: 2 of 3 tests of the check hidden fail: adds two numbers, adds negative numbers.',
      cheated: expect.stringMatching(/^fail: .*check_file_changed.*2 of 3 tests/s),
      counted: 'pass',
      own: 'pass',
    });
  });

  test('stores a case with the defaults of its file, and its checks in its artifact', () => {
    const lines = readFileSync(path.join(folder, 'assets/cases.ndjson'), 'utf8').trim().split('\n');
    const own = JSON.parse(lines[4] ?? '') as Record<string, unknown>;
    expect(own).toMatchObject({
      dir: 'task',
      policy: 'read-only',
      checks: [{ name: 'hidden' }, { command: expect.any(String) }],
    });
    const { agent_run } = json(folder, 'unsolved.json') as CaseArtifact;
    expect(agent_run?.checks).toEqual([
      {
        name: 'hidden',
        verdict: 'failed',
        reason: 'tests_failed',
        message: expect.any(String),
        report: true,
        tests: { total: 3, passed: 1, failed: 2, skipped: 0, failures: expect.any(Array) },
        restored: 0,
        overlay_sha256: expect.stringMatching(/^sha256:/),
        second_look: null,
      },
      expect.objectContaining({ name: 'suite-1', verdict: 'passed', report: false, tests: null }),
    ]);
  });

  test('names policies, checks and hidden files in its request, and stores the path of the project nowhere', () => {
    const { target } = json(folder, 'evidence/request.json') as SuiteRequest;
    expect(target).toMatchObject({
      work: {
        policies: [{ name: 'edit' }, { name: 'read-only' }],
        checks: [{ name: 'suite-1' }],
        contents: [{ of: 'overlay', path: 'hidden' }],
      },
    });
    expect(everythingIn(folder)).not.toContain(cwd);
  });

  test('verifies together with the runs of its agents, unless a check in an artifact was changed', async () => {
    await expectValid(folder);
    const copy = temporaryFolder();
    cpSync(path.join(cwd, '.proctor'), copy, { recursive: true });
    const artifact = path.join(copy, path.relative(path.join(cwd, '.proctor'), folder), 'unsolved.json');
    writeFileSync(artifact, readFileSync(artifact, 'utf8').replace('"restored":0', '"restored":5'));
    const found = [];
    for await (const { violations = [] } of verify([copy])) found.push(...violations.map(({ rule_id }) => rule_id));
    expect(found).toContain('FD13');
  });
});

test('reports a hidden test that changed between two runs as a changed condition', async () => {
  const cwd = world(...one('solved', FIX));
  await ran(cwd);
  const hidden = path.join(cwd, 'suite/hidden/tests/hidden.test.js');
  writeFileSync(hidden, HIDDEN.replace('-5', '-6'));
  await ran(cwd, { as: 'new' });
  const { comparison } = await compareRuns({ baseline: 'baseline', candidate: 'new', cwd });
  expect(comparison.comparability.fields.map(({ field }) => field)).toContain('work.hidden_files');
  expect(comparison.cases[0]?.divergence).toMatchObject({
    kind: 'checks',
    says: expect.stringContaining('The hidden files of the check hidden differ'),
  });
});

test('resumes in the middle with the folders of the case file, and refuses if a hidden file or the commit changed', async () => {
  const cwd = world(...one('first', FIX), ...one('second', FIX));
  const stop = new AbortController();
  const started = ran(cwd, { concurrency: 1, signal: stop.signal, onProgress: () => stop.abort() });
  const [open] = (await started).runs;
  expect(open?.isOpen).toBe(true);
  const id = open?.place.id as string;
  const hidden = path.join(cwd, 'suite/hidden/tests/hidden.test.js');
  writeFileSync(hidden, `${HIDDEN}// changed\n`);
  const resume = () => resumeSuite(id, { cwd, environment, variable: () => undefined });
  await expect(resume()).rejects.toThrow('a folder that the cases use changed since the run started');
  writeFileSync(hidden, HIDDEN);
  const task = path.join(cwd, 'suite/task');
  gitIn(task, ...AS_TESTER, 'commit', '-q', '--allow-empty', '-m', 'Later');
  await expect(resume()).rejects.toThrow('is at another commit than when the run started');
  gitIn(task, 'reset', '--quiet', '--hard', 'HEAD~1');
  const [run] = (await resume()).runs;
  expect([run?.isOpen, run?.judged?.passed]).toEqual([false, 2]);
});

test('starts from files alone, and runs the setup of the case', async () => {
  const cwd = world(
    ...one(
      'fresh',
      'cat made.txt',
      'files: start',
      'setup: echo ready > made.txt',
      'checks: [{ name: made, command: grep ready made.txt }]',
      'expected: { check: made }',
    ),
  );
  mkdirSync(path.join(cwd, 'suite/start'));
  writeFileSync(path.join(cwd, 'suite/start/README.md'), 'A start.\n');
  writeFileSync(
    path.join(cwd, 'suite/cases.yaml'),
    readFileSync(path.join(cwd, 'suite/cases.yaml'), 'utf8').replace('dir: task\n', ''),
  );
  const [run] = (await ran(cwd)).runs;
  expect(verdicts(run?.place.folder as string)).toEqual({ fresh: 'pass' });
  const { target } = json(run?.place.folder as string, 'evidence/request.json') as SuiteRequest;
  expect(target).toMatchObject({ work: { contents: [{ of: 'files', path: 'start' }, { of: 'overlay' }] } });
});

test('a failed setup or a damaged bundle makes its case an error without a retry; other cases continue', async () => {
  const cwd = world(
    ...one('failing', 'true', "setup: 'echo first; echo no such package >&2; exit 3'"),
    ...one('slow', 'true', "setup: { command: 'echo waiting; sleep 60', timeout: 1s }"),
    ...one('large', 'true', `setup: { command: '${EATS_MEMORY}', memory: 64MB }`),
    ...one('solved', FIX, "setup: 'echo ready > made.txt'"),
    ...one('torn', 'true', 'repository: task.bundle'),
  );
  const file = path.join(cwd, 'suite/cases.yaml');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('dir: task\n', '').replaceAll(' setup:', ' dir: task\n    setup:'),
  );
  const bundle = path.join(cwd, 'suite/task.bundle');
  gitIn(path.join(cwd, 'suite/task'), 'bundle', 'create', '-q', bundle, '--all');
  const kept = (): number => (existsSync(SETUPS) ? readdirSync(SETUPS).length : 0);
  const before = kept();
  // Proctor refuses a bundle that is damaged before the first case, so this damages it during the run.
  const onProgress = (): void => truncateSync(bundle, statSync(bundle).size - 1);
  const [run] = (await ran(cwd, { concurrency: 1, retries: 2, onProgress })).runs;
  const folder = run?.place.folder as string;
  const { cases } = json(folder, 'evaluation.json') as Evaluation;
  expect(cases.map(({ case_id, verdict, failure }) => [case_id, verdict, failure?.message ?? ''])).toEqual([
    ['failing', 'error', expect.stringMatching(/failed with exit code 3, so the agent did not start.*no such package/)],
    ['slow', 'error', expect.stringContaining('exceeded its time limit (1000 ms), so the agent did not start')],
    ['large', 'error', expect.stringContaining('ran out of memory (64000000 bytes), so the agent did not start')],
    ['solved', 'pass', ''],
    ['torn', 'error', expect.stringContaining('The bundle cannot be used')],
  ]);
  for (const id of ['failing', 'slow', 'large', 'torn']) {
    const { attempts, agent_run } = json(folder, `${id}.json`) as CaseArtifact;
    expect([attempts?.length, agent_run]).toEqual([1, undefined]);
  }
  // Only the setup that succeeded is cached.
  expect(kept() - before).toBe(1);
  await expectValid(folder);
});

test('runs a setup that failed only once per suite run, and again in the next one', async () => {
  const cwd = world(
    ...['a', 'b', 'c'].flatMap(id => one(id, 'true', "setup: 'echo no such package >&2; exit 3'")),
    ...one('d', 'true', "setup: 'exit 3'"),
  );
  const errors = async (): Promise<string[]> => {
    const [run] = (await ran(cwd)).runs;
    const { cases } = json(run?.place.folder as string, 'evaluation.json') as Evaluation;
    return cases.map(({ failure }) => failure?.message ?? '');
  };
  for (const round of [1, 2]) {
    const [d = '', ...shared] = (await errors()).toReversed();
    const again = shared.filter(message => message.includes('earlier in this suite run. Proctor did not run it again'));
    expect([d.includes('earlier'), again.length], `round ${round}`).toEqual([false, 2]);
    for (const message of shared) expect(message).toMatch(/failed with exit code 3.*no such package/);
  }
});

test('a suite that is stopped during a setup stays open, and has no result for that case', async () => {
  const marker = `suite-setup-${process.pid}`;
  const cwd = world(...one('waiting', FIX, `setup: sh -c 'sleep 600; true' ${marker}`));
  const stop = new AbortController();
  const running = ran(cwd, { signal: stop.signal });
  await until('the setup runs', () => processesWith(marker).length > 0);
  stop.abort();
  const [run] = (await running).runs;
  expect(run?.isOpen).toBe(true);
  expect(existsSync(path.join(run?.place.folder as string, 'waiting.json'))).toBe(false);
  expect(processesWith(marker)).toEqual([]);
});

test('a check that keeps other files has another hash in the target', async () => {
  const cwd = world(...one('same', 'true'));
  const hashWith = async (keep: string) => {
    const [run] = (await ran(cwd, { checks: [{ command: 'true', keep: [keep] }] })).runs;
    const { target } = json(run?.place.folder as string, 'evidence/request.json') as SuiteRequest;
    return target.kind === 'agent' ? target.work?.checks[0]?.sha256 : undefined;
  };
  const before = await hashWith('package.json');
  expect(before).toMatch(/^sha256:/);
  expect(await hashWith('run-tests.sh')).not.toBe(before);
});

describe('refuses a suite with', () => {
  test.each([
    [
      'a missing folder',
      ['dir: nowhere'],
      /Case a: .*(?:exist|folder).* Paths in a case file are relative to its folder\.$/,
    ],
    [
      'a missing overlay',
      ['checks: [{ name: x, command: "true", overlay: none }]'],
      'Case a: The overlay of the check x is not a folder',
    ],
    ['a missing mount', ['mounts: [none]'], 'Case a: Cannot mount none: it does not exist'],
    ['an unknown agent', ['agent: gemini'], 'Case a: Unknown agent "gemini"'],
    ['an unknown policy', ['policy: edits'], 'Case a: There is no such agent policy'],
    ['a missing program', ['checks: [{ command: no-such-program test }]'], 'needs the program no-such-program'],
    ['an unknown ref', ['ref: v99'], /Case a: /],
  ])('%s', async (_, keys, says) => {
    const cwd = world(...one('a', 'true', ...keys));
    await expect(ran(cwd)).rejects.toThrow(says);
  });
});

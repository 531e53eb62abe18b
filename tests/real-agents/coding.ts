import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Evaluation } from '../../src/contracts/evaluation/index.ts';
import type { Matrix } from '../../src/contracts/matrix.ts';
import { CODING, codingCases, codingModels } from '../../stand-ins/coding-models.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { type ModelApi, startModelApi } from '../../stand-ins/model-api.ts';
import { type Ran, ROOT } from '../support/support.ts';

const AGENTS = ['claude', 'codex'] as const;
const SIDES = AGENTS.flatMap(agent => ['solver', 'sloppy'].map(model => ({ agent, model, name: `${agent} ${model}` })));

const VERDICTS = {
  solver: {
    'empty-input': 'pass',
    'stop-words': 'pass',
    'one-row': 'pass',
    'path-traversal': 'pass',
    'half-cents': 'pass',
  },
  sloppy: {
    'empty-input':
      'fail | 3 of 8 tests pass, but at least 8 must pass. | 5 of 8 tests of the check hidden fail: accepts input of white space only, ignores blank lines between settings, keeps everything after the first equals sign, …',
    'stop-words': 'pass',
    'one-row':
      'fail | 7 of 8 tests pass, but at least 8 must pass. | 1 of 8 tests of the check hidden fails: cuts and pads in one place.',
    'path-traversal':
      'fail | 8 of 9 tests pass, but at least 9 must pass. | 1 of 9 tests of the check hidden fails: refuses a folder next to the root whose name starts the same.',
    'half-cents': 'pass',
  },
} as const;

/** The tasks in examples/coding, for two agents and two models. `programs` returns the folder with the agents. */
export function tryCoding(programs: () => string): void {
  let world: CodingWorld;
  let matrix: Matrix;
  beforeAll(async () => {
    world = await CodingWorld.begin(programs());
    const sides = ['--agent', 'claude', '--agent', 'codex', '--model', 'solver', '--model', 'sloppy'];
    const { code, stdout, stderr } = await world.proctor(
      ...['run', 'suite', 'coding/cases.yaml', ...sides, '--gate', 'strict', '--json'],
    );
    expect(code, stdout + stderr).toBe(1);
    matrix = JSON.parse(stdout) as Matrix;
  });
  afterAll(() => world.end());
  const runOf = (version: string): string => matrix.versions.find(({ name }) => name === version)?.run_ids[0] ?? '';

  test.each(SIDES)('$agent with the model $model gets the expected verdict on every task', ({ name, model }) => {
    expect(world.verdicts(runOf(name))).toEqual(VERDICTS[model as keyof typeof VERDICTS]);
  });

  test.each(AGENTS)('flags a model that edits a visible test, or claims tests that it did not run: %s', agent => {
    const flags = (task: string): readonly string[] =>
      world.artifact(runOf(`${agent} sloppy`), task).agent_run?.flags.map(({ flag }) => flag) ?? [];
    expect(flags('empty-input')).toContain('check_file_changed');
    expect(flags('one-row')).toContain('tests_claimed_not_run');
    expect(flags('half-cents')).toEqual([]);
  });

  test('no request to a model contains the name of a hidden test', () => {
    expect(world.asked.length).toBeGreaterThan(50);
    const names = hiddenNames();
    expect(names.length).toBeGreaterThan(20);
    expect(world.asked.filter(text => names.some(name => text.includes(name)))).toEqual([]);
  });

  test('the evidence verifies', async () => {
    const { code, stdout, stderr } = await world.proctor('verify', '.proctor');
    expect(code, stdout + stderr).toBe(0);
  });

  test('the matrix shows 5 of 5 against 2 of 5 solved tasks', () => {
    expect(matrix.verdict).toBe('regression');
    expect(matrix.versions.map(({ name, pass_rate, states }) => [name, pass_rate?.rate, states])).toEqual(
      SIDES.map(({ name, model }) =>
        model === 'solver'
          ? [name, 1, expect.objectContaining({ pass: 5 })]
          : [name, 0.4, expect.objectContaining({ pass: 2, fail: 3 })],
      ),
    );
  });

  test('a task can start from an older commit of a git bundle', async () => {
    const cases = world.bundled('empty-input');
    const flags = ['--agent', 'codex', '--model', 'solver', '--as', 'new', '--run-id', 'bundled'];
    const { code, stderr } = await world.proctor('run', 'suite', cases, ...flags);
    expect(code, stderr).toBe(0);
    expect(world.verdicts('bundled')).toEqual({ 'empty-input': 'pass' });
  });
}

/** A folder with a copy of the example, and a model API on loopback. */
class CodingWorld {
  readonly cwd = mkdtempSync(path.join(tmpdir(), 'proctor-coding-'));
  readonly #api: ModelApi;
  readonly #programs: string;

  static async begin(programs: string): Promise<CodingWorld> {
    return new CodingWorld(await startModelApi(codingModels()), programs);
  }

  private constructor(api: ModelApi, programs: string) {
    this.#api = api;
    this.#programs = programs;
    cpSync(path.join(ROOT, CODING), path.join(this.cwd, 'coding'), { recursive: true });
  }

  /** Every request to the model. */
  get asked(): readonly string[] {
    return this.#api.asked.map(({ text }) => text);
  }

  async end(): Promise<void> {
    await this.#api.close();
    rmSync(this.cwd, { recursive: true, force: true });
  }

  /** Runs Proctor without blocking this process, which serves the model. */
  async proctor(...args: readonly string[]): Promise<Ran> {
    const key = 'sk-a-key-that-must-not-leave-its-keeper';
    const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
      cwd: this.cwd,
      env: {
        PATH: [this.#programs, path.dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
        HOME: this.cwd,
        XDG_STATE_HOME: process.env['XDG_STATE_HOME'],
        NO_COLOR: '1',
        ANTHROPIC_API_KEY: key,
        ANTHROPIC_BASE_URL: this.#api.url,
        OPENAI_API_KEY: key,
        OPENAI_BASE_URL: `${this.#api.url}/v1`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    return { code, stdout, stderr };
  }

  verdicts(run: string): Record<string, string> {
    const { cases } = this.#read(run, 'evaluation.json') as Evaluation;
    return Object.fromEntries(
      cases.map(({ case_id, verdict, assertions }) => {
        const failing = assertions.flatMap(({ status, message }) => (status === 'fail' ? (message ?? '') : []));
        return [case_id, [verdict, ...failing].join(' | ')];
      }),
    );
  }

  artifact(run: string, task: string): CaseArtifact {
    return this.#read(run, `${task}.json`) as CaseArtifact;
  }

  #read(run: string, file: string): unknown {
    return JSON.parse(readFileSync(path.join(this.cwd, '.proctor', 'runs', 'new', run, file), 'utf8'));
  }

  /** Copies a task into a git bundle that also has a commit after its `ref`. Returns the case file. */
  bundled(task: string): string {
    const repository = path.join(this.cwd, 'repository');
    cpSync(path.join(this.cwd, 'coding', 'tasks', task, 'files'), repository, { recursive: true });
    const git = (...args: readonly string[]): string =>
      gitIn(repository, '-c', 'user.name=tester', '-c', 'user.email=tester@example.org', ...args);
    git('init', '-q', '-b', 'main');
    git('add', '--all');
    git('commit', '-q', '-m', 'One');
    git('tag', 'start');
    writeFileSync(path.join(repository, 'src', 'parse.js'), 'throw new Error("later");\n');
    git('commit', '-q', '--all', '-m', 'Two');
    mkdirSync(path.join(this.cwd, 'coding', 'bundles'));
    git('bundle', 'create', '-q', path.join(this.cwd, 'coding', 'bundles', `${task}.bundle`), '--all');
    const one = codingCases().find(({ id }) => id === task);
    const cases = [{ ...one, files: undefined, repository: `bundles/${task}.bundle`, ref: 'start' }];
    writeFileSync(
      path.join(this.cwd, 'coding', 'bundled.yaml'),
      stringify({ schema_version: 'cases.v1', policy: 'edit', cases }),
    );
    return 'coding/bundled.yaml';
  }
}

/** The titles of all hidden tests. A short one, such as `still ignores comments`, could occur by chance. */
function hiddenNames(): string[] {
  const tasks = readdirSync(path.join(ROOT, CODING, 'tasks'));
  const folders = tasks.map(task => path.join(ROOT, CODING, 'tasks', task, 'hidden', 'tests'));
  const texts = folders.flatMap(at => readdirSync(at).map(name => readFileSync(path.join(at, name), 'utf8')));
  const names = texts.flatMap(text =>
    [...text.matchAll(/test\('([^']+)'|def (test_\w+)/g)].map(([, js, py]) => js ?? py),
  );
  return names.filter((name): name is string => name !== undefined && name.length > 15);
}

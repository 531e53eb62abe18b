import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitIn } from '../stand-ins/git.ts';
import { placeAgent } from '../stand-ins/place-agent.ts';

const root = process.cwd();

/** Repetitions end in a number: `.2`. */
const FIRST_TRIAL = /^suite_\d+_\d+_[0-9a-f]+$/;

/** A folder with real runs of every kind, made with the built command line. */
export class ShotsWorld {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'proctor-shots-'));
  readonly #environment: NodeJS.ProcessEnv;

  constructor() {
    process.on('exit', () => rmSync(this.folder, { recursive: true, force: true }));
    const bin = path.join(this.folder, 'bin');
    mkdirSync(bin);
    placeAgent('claude', bin);
    gitIn(this.folder, 'init', '-q', '-b', 'main');
    writeFileSync(path.join(this.folder, '.gitignore'), '*\n');
    this.#environment = {
      ...process.env,
      PATH: `${bin}:${process.env['PATH']}`,
      ANTHROPIC_API_KEY: 'an-unused-key',
    };
  }

  /** Runs a command, and returns its standard output. Any other exit code is an error. */
  proctor(exit: number, ...args: readonly string[]): string {
    return this.#ran(exit, args, {});
  }

  #ran(exit: number, args: readonly string[], env: NodeJS.ProcessEnv): string {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'dist', 'proctor.js'), ...args], {
      cwd: this.folder,
      encoding: 'utf8',
      env: { ...this.#environment, ...env },
      timeout: 300_000,
    });
    if (status !== exit) throw new Error(`proctor ${args.join(' ')} exited with ${status}, not ${exit}:\n${stderr}`);
    return stdout;
  }

  /** Writes the page of the newest run, and returns its file. */
  page(word = 'latest'): string {
    return path.join(this.folder, this.proctor(0, 'view', word, '--no-open').trim());
  }

  /** The report of the newest comparison. */
  comparison(): string {
    const comparisons = path.join(this.folder, '.proctor', 'comparisons');
    return path.join(comparisons, readdirSync(comparisons).sort().at(-1) ?? '', 'report.html');
  }

  /** Commits, runs the example suite against a version of the example agent, and returns the id of the run. */
  async suite(side: 'baseline' | 'new', flags: readonly string[], repeat: number): Promise<string> {
    gitIn(this.folder, ...AUTHOR, 'commit', '-q', '--allow-empty', '-m', 'Change the agent');
    const { url, child } = await startAgent(flags);
    const cases = path.join(root, 'examples', 'suite', 'cases.yaml');
    const exit = flags.includes('--new') ? 1 : 0;
    this.proctor(exit, 'run', 'suite', cases, '--base-url', url, '--as', side, '--repeat', String(repeat));
    child.kill();
    const { runs } = JSON.parse(this.proctor(0, 'list', '--json')) as { runs: { run_id: string }[] };
    return runs.find(({ run_id }) => FIRST_TRIAL.test(run_id))?.run_id ?? '';
  }

  /** Compares named suite runs, and returns the page of the matrix. */
  matrix(exit: number, suites: Readonly<Record<string, string>>): string {
    const names = Object.entries(suites).flatMap(([name, run]) => ['--name', `${run}=${name}`]);
    const printed = this.proctor(exit, 'compare', ...Object.values(suites), ...names, '--json');
    const { reports } = JSON.parse(printed) as { reports: { html: string } };
    return path.join(this.folder, reports.html);
  }

  /** Lets both agents work on the coding tasks with two models, and returns the page of the matrix. */
  async coding(): Promise<string> {
    const bin = path.join(this.folder, 'coders');
    mkdirSync(bin);
    for (const agent of ['claude', 'codex'] as const) placeAgent(agent, bin, true);
    const { said, child } = await started([path.join(root, 'scripts', 'run.mjs'), 'scripts/model-api.ts']);
    const url = `http://127.0.0.1:${said.trim()}`;
    const cases = path.join(root, 'examples', 'coding', 'cases.yaml');
    const versions = ['--agent', 'claude', '--agent', 'codex', '--model', 'solver', '--model', 'sloppy'];
    const printed = this.#ran(1, ['run', 'suite', cases, ...versions, '--gate', 'strict', '--json'], {
      PATH: `${bin}:${process.env['PATH']}`,
      ANTHROPIC_BASE_URL: url,
      OPENAI_API_KEY: 'an-unused-key',
      OPENAI_BASE_URL: `${url}/v1`,
    });
    child.kill();
    const { reports } = JSON.parse(printed) as { reports: { html: string } };
    return path.join(this.folder, reports.html);
  }

  /** Lets the stand-in for Claude work on a small repository: it edits and tests, and one call is denied. */
  agent(): void {
    const project = path.join(this.folder, 'project');
    mkdirSync(path.join(project, 'src'), { recursive: true });
    writeFileSync(path.join(project, 'README.md'), 'A project.\n');
    writeFileSync(path.join(project, 'src', 'sum.ts'), 'export const sum = (a: number, b: number) => a + b;\n');
    mkdirSync(path.join(project, 'tests'));
    writeFileSync(path.join(project, 'tests', 'sum.test.mjs'), TEST);
    gitIn(project, 'init', '-q', '-b', 'main');
    gitIn(project, 'add', '--all');
    gitIn(project, ...AUTHOR, 'commit', '-q', '-m', 'One');
    const deeds = [
      'DO=say',
      sh('sleep 0.2; ls src'),
      sh(`sleep 0.3; printf '${GREETING}' > src/greeting.ts`),
      sh("sed -i 's/a + b/b + a/' src/sum.ts; sed -i 's/equal(1, 2)/equal(1, 1)/' tests/sum.test.mjs"),
      'DO=failed_command DO=deny',
      sh('sleep 0.4; cat src/greeting.ts'),
      'DO=tested',
    ];
    const checks = path.join(this.folder, 'checks.yaml');
    writeFileSync(checks, CHECKS);
    const task = `Add a greeting that names the reader.\nPut it in src/greeting.ts.\nRun the tests.\n\n${deeds.join(' ')}`;
    this.proctor(
      1,
      'run',
      'agent',
      '--agent',
      'claude',
      '--task',
      task,
      '--dir',
      'project',
      '--policy',
      'edit',
      '--checks',
      checks,
    );
  }
}

const TEST = `import { equal } from 'node:assert/strict';
import { test } from 'node:test';
test('sums', () => equal(1, 2));
`;

/** One check passes; the other fails, because the agent changed the test that Proctor put back. */
const CHECKS = `checks:
  - name: greets
    command: test -s src/greeting.ts
  - name: unit
    command: node --test tests/*.test.mjs
`;

const sh = (command: string): string => `DO=sh:${Buffer.from(command).toString('hex')}`;

const AUTHOR = ['-c', 'user.name=an author', '-c', 'user.email=author@example.org', '-c', 'commit.gpgsign=false'];

const GREETING = String.raw`/** Greets the reader by name. */\nexport function greeting(name: string): string {\n  return "Hello, " + name;\n}\n`;

export async function startAgent(flags: readonly string[]): Promise<{ url: string; child: ChildProcess }> {
  const { said, child } = await started([path.join(root, 'examples', 'suite', 'agent.mjs'), '--port', '0', ...flags]);
  return { url: /http:\S+/.exec(said)?.[0] ?? '', child };
}

/** Starts a server with Node, and waits for its first words. */
async function started(args: readonly string[]): Promise<{ said: string; child: ChildProcess }> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = (): void => void child.kill();
  process.on('exit', end);
  child.once('exit', () => process.off('exit', end));
  const said = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('A server did not start.')));
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  return { said, child };
}

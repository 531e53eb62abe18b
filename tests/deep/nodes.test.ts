import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { loadContracts } from '../../src/contracts/catalogue.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Started, until } from '../support/runs.ts';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';
import { nodeReleases, packInto } from '../support/tarball.ts';

const SCRIPT = `
console.log('on Node', process.version);
(await import(process.env.PROCTOR_TOOL)).succeed();
`;

const releases = nodeReleases();
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-nodes-'));
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
let tarball: string;
let postgres: TestPostgres;
beforeAll(async () => {
  chmodSync(folder, 0o755);
  tarball = packInto(folder);
  postgres = await TestPostgres.start();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres.stop();
});

/** Every supported release line. */
describe.each(['20.19', '22', '24'])('on Node %s', line => {
  const node = releases.get(line) as string;

  test('the installed tarball runs a script in the sandbox and a suite, verifies and compares', async () => {
    const cwd = temporaryFolder();
    const prefix = path.join(folder, line);
    const env = {
      ...process.env,
      NO_COLOR: '1',
      npm_lifecycle_event: '',
      PATH: `${path.dirname(node)}:${process.env.PATH}`,
    };
    const ran = (program: string, ...args: string[]): { code: number | null; said: string } => {
      const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8', timeout: 120_000 });
      return { code: status, said: stdout + stderr };
    };
    const flags = ['--global', '--prefix', prefix, '--no-audit', '--no-fund', '--prefer-offline'];
    expect(ran('npm', 'install', ...flags, tarball)).toMatchObject({ code: 0 });
    const proctor = (...args: string[]) => ran(path.join(prefix, 'bin', 'proctor'), ...args);
    expect(proctor('--version')).toEqual({ code: 0, said: `${version}\n` });

    writeFileSync(path.join(cwd, 'node.mjs'), SCRIPT);
    const script = proctor('run', 'script', 'node.mjs');
    expect(script.code, script.said).toBe(0);
    expect(script.said).toContain(`on Node v${line}.`);

    const examples = path.join(prefix, 'lib', 'node_modules', 'proctor', 'examples', 'suite');
    for (const [side, args, code] of [
      ['baseline', [], 0],
      ['new', ['--new'], 1],
    ] as const) {
      const url = await startedAgent(node, [path.join(examples, 'agent.mjs'), '--port', '0', ...args]);
      const words = [
        'run',
        'suite',
        path.join(examples, 'cases.yaml'),
        '--base-url',
        url,
        '--as',
        side,
        '--repeat',
        '3',
      ];
      const suite = proctor(...words);
      expect(suite.code, suite.said).toBe(code);
    }
    expect(proctor('verify', '.proctor/runs/baseline', '.proctor/runs/new')).toMatchObject({ code: 0 });
    const compared = proctor('compare');
    expect(compared.code, compared.said).toBe(1);
    expect(compared.said).toContain('Regression');
  });

  test('the queue and its worker run with PostgreSQL, and a worker of a server loads', async () => {
    const cwd = temporaryFolder();
    const env = { ...process.env, NO_COLOR: '1', PROCTOR_QUEUE: await postgres.database(), PROCTOR_TOKEN: 'pt_x' };
    const start = (...words: string[]): Started =>
      new Started(
        spawn(node, [path.join(ROOT, 'dist', 'proctor.js'), ...words], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }),
      );
    expect(await start('queue', 'migrate').ended).toMatchObject({ code: 0, stderr: '' });
    const worker = start('worker', '--queue');
    onTestFinished(() => worker.kill('SIGKILL'));
    await until('the worker is ready', () => worker.stderr.includes(' is ready. ') || worker.isOver);
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stderr: expect.stringContaining(' is ready. ') as string });
    const other = await start('worker', '--on', 'ftp://127.0.0.1').ended;
    expect(other).toMatchObject({
      code: 2,
      stderr: 'error: The URL of the server must start with http:// or https://.\n',
    });
  });

  test('the verifier gives the same verdicts on valid and broken documents', async () => {
    const cwd = temporaryFolder();
    const files: string[] = [];
    for (const contract of await loadContracts()) {
      const documents = [
        contract.example,
        ...contract.rules.slice(0, 3).map(({ breach }) => breach(structuredClone(contract.example) as never)),
      ];
      for (const [index, document] of documents.entries()) {
        files.push(`${contract.name}-${index}.json`);
        // A breach may remove a key by making it undefined.
        const plain: unknown = JSON.parse(JSON.stringify(document));
        writeFileSync(path.join(cwd, files.at(-1) as string), canonicalize(plain));
      }
    }
    writeFileSync(path.join(cwd, 'torn.json'), '{"a":');
    writeFileSync(path.join(cwd, 'twice.json'), '{"a":1,"a":2}');
    const args = ['verify', '--json', ...files, 'torn.json', 'twice.json'];
    expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(
      new RegExp(`^v${line.replace('.', '\\.')}\\.`),
    );
    let there = '';
    try {
      there = execFileSync(node, [path.join(ROOT, 'dist', 'proctor.js'), ...args], { cwd, encoding: 'utf8' });
    } catch (error) {
      there = (error as { stdout: string }).stdout;
    }
    expect(there).toBe(proctor(args, { cwd }).stdout);
    expect(files.length).toBeGreaterThan(50);
  });
});

/** Starts the example agent, and returns its address. */
async function startedAgent(node: string, args: readonly string[]): Promise<string> {
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  const said = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('The example agent did not start.')));
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  return /http:\S+/.exec(said)?.[0] ?? '';
}

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

const read = (page: string): string => readFileSync(path.join(ROOT, page), 'utf8');

test('every command in the README has the documented exit code and output', async () => {
  const page = read('README.md');
  const { type } = await world();
  const [first = '', second = ''] = page.split('## Run a script in a sandbox');
  // The first part is for an empty folder, the second for a checkout.
  const printed = (await type(commandsOf(first), temporaryFolder())) + (await type(commandsOf(second)));
  expect(shownLines(page).filter(line => !printed.includes(line))).toEqual([]);
});

test.each(['ci', 'evidence', 'scripts', 'suites', 'targets', 'verifying'])(
  'the commands of docs/%s.md work',
  async name => {
    const { type, folder } = await world();
    writeFileSync(path.join(folder, 'proctor.yaml'), PROJECT);
    const agent = 'node examples/suite/agent.mjs --port';
    await type(['proctor run script report.py', `${agent} 8787 &`, `${agent} 8788 &`]);
    await type(commandsOf(read(`docs/${name}.md`)));
  },
);

/** The commands in the marked blocks of a page, one per line. A backslash continues a line. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/<!-- run by tests -->\n```sh\n([\s\S]*?)^```$/gm)];
  expect(blocks).not.toEqual([]);
  return blocks.flatMap(([, text = '']) => text.trim().replaceAll('\\\n', ' ').split('\n'));
}

/** The output on a page, without parts that differ between runs or were cut. */
function shownLines(page: string): string[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, language]) => language === '')
    .flatMap(([, , text = '']) => text.split('\n'))
    .map(line =>
      line
        .replace(/ …$/, '')
        .replace(/exit 0, \d+ ms$/, 'exit 0')
        .replace(/(script_)\w+$/, '$1'),
    )
    .filter(line => line !== '');
}

/** A repository with the examples and files of the pages, where `proctor` and `npx proctor` work. */
async function world() {
  const folder = temporaryFolder();
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const proctor = `exec '${process.execPath}' '${path.join(ROOT, 'dist', 'proctor.js')}' "$@"\n`;
  for (const [name, text] of [
    ['proctor', proctor],
    ['npx', `shift\n${proctor}`],
  ] as const) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}`);
    chmodSync(path.join(bin, name), 0o755);
  }
  cpSync(path.join(ROOT, 'examples'), path.join(folder, 'examples'), { recursive: true });
  copyFileSync(path.join(ROOT, 'examples', 'suite', 'cases.yaml'), path.join(folder, 'cases.yaml'));
  writeFileSync(path.join(folder, 'cases.json'), '[{"id":"order-state","input":{"user":"Where is A-1002?"}}]');
  writeFileSync(path.join(folder, 'report.py'), 'import proctor_tool\nproctor_tool.succeed()\n');
  writeFileSync(path.join(folder, 'data.csv'), 'name,amount\n');
  spawnSync('git', ['init', '-q'], { cwd: folder });
  const env = { ...process.env, NO_COLOR: '1', PATH: `${bin}:${process.env['PATH']}` };
  const ports: Readonly<Record<string, number>> = { 8787: await freePort(), 8788: await freePort() };

  /** Runs commands in sequence and returns their output. A command that ends in `&` runs until the test ends. */
  async function type(commands: readonly string[], cwd = folder): Promise<string> {
    let printed = '';
    for (const command of commands) {
      const line = command.replace(/\b878[78]\b/g, port => String(ports[port]));
      if (line.endsWith('&')) {
        await start(line.slice(0, -1));
        continue;
      }
      const [, exit = '0'] = /# exit code (\d+)$/.exec(line) ?? [];
      const { status, stdout } = spawnSync('sh', ['-c', `{ ${line}\n} 2>&1`], { cwd, env, encoding: 'utf8' });
      expect({ command, status }, stdout).toEqual({ command, status: Number(exit) });
      printed += stdout;
    }
    return printed;
  }

  async function start(line: string): Promise<void> {
    const child = spawn('sh', ['-c', `exec ${line}`], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill());
    await new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`${line} did not start`)));
      child.stdout.once('data', resolve);
    });
  }

  return { type, folder };
}

/** The project that the pages assume. */
const PROJECT = `schema_version: project.v1
targets:
  desk:
    kind: proctor
    url: http://127.0.0.1:\${port}
    start:
      run: [node, examples/suite/agent.mjs, --port, "\${port}"]
      ready: { within: 30s }
suites:
  desk: { cases: cases.yaml, target: desk, repeat: 5 }
`;

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { startModelApi } from '../../stand-ins/model-api.ts';
import { agentFolder, repositoryFolder } from '../../stand-ins/place.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

const page = readFileSync(path.join(ROOT, 'docs', 'agents.md'), 'utf8');

/** A block of the page: its language and its text. */
const BLOCK = /^```(\w+)\n([\s\S]*?)^```$/gm;
/** The actions of the stand-ins for the tasks on the page. */
const DEEDS = 'DO=model DO=write';

test('the commands in docs/agents.md work and print what the page shows', async () => {
  const api = await startModelApi();
  const { folder, sh } = world(api.url);
  const typed = [...page.matchAll(BLOCK)].flatMap(({ 1: language, 2: text = '' }) => {
    if (language !== 'yaml') return language === 'console' ? shown(text) : alone(text);
    writeFileSync(path.join(folder, text.startsWith('models:') ? 'prices.yaml' : 'docs-only.yaml'), text);
    return [];
  });
  for (const { command, exit, said } of typed) {
    const answer = await sh(command);
    expect({ command, exit: answer.exit }, answer.said).toEqual({ command, exit });
    if (said !== undefined) expect({ command, said: told(answer.said) }).toEqual({ command, said: told(said) });
    // Applied changes would affect the next command.
    gitIn(folder, 'clean', '-q', '--force', 'hello.txt');
  }
  expect(typed.length).toBeGreaterThan(9);
  await api.close();
});

interface Typed {
  readonly command: string;
  readonly exit: number;
  readonly said?: string;
}

/** The command in a block, its exit code, and its output. */
function shown(text: string): Typed[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const [command = '', ...said] = part.split('\n');
      const [, exit = '0'] = /# exit code (\d+)$/.exec(command) ?? [];
      return { command, exit: Number(exit), said: said.join('\n') };
    });
}

/** Commands whose output the page does not show. They must exit with 0. */
function alone(text: string): Typed[] {
  return text
    .trim()
    .split('\n')
    .map(command => ({ command, exit: 0 }));
}

/** A repository with `proctor` on the PATH and stand-ins for both agents. */
function world(url: string) {
  const folder = repositoryFolder({
    'README.md': 'A project.\n',
    'task.md': 'Look around.\n',
    'package.json': '{ "name": "project", "version": "1.0.0", "scripts": { "test": "true" } }\n',
    'package-lock.json': '{ "name": "project", "version": "1.0.0", "lockfileVersion": 3, "packages": {} }\n',
  });
  // Excluded, because Proctor warns about files that the agent does not see.
  writeFileSync(
    path.join(folder, '.git', 'info', 'exclude'),
    'docs-only.yaml\nprices.yaml\nrun.json\nnode_modules\ndata\ntasks\ngiven\n',
  );
  gitIn(folder, 'branch', 'release-2');
  for (const mounted of ['node_modules', 'data']) {
    mkdirSync(path.join(folder, mounted));
    writeFileSync(path.join(folder, mounted, 'list.txt'), 'one\n');
  }
  mkdirSync(path.join(folder, 'given'));
  writeFileSync(path.join(folder, 'given', 'given.txt'), 'one\n');
  mkdirSync(path.join(folder, 'tasks'));
  gitIn(folder, 'tag', 'v1');
  gitIn(folder, 'bundle', 'create', '--quiet', 'tasks/parse.bundle', '--all');
  const bin = agentFolder('claude');
  placeAgent('codex', bin);
  const program = path.join(bin, 'proctor');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${path.join(ROOT, 'dist', 'proctor.js')}' "$@"\n`);
  chmodSync(program, 0o755);
  const env = {
    ...process.env,
    NO_COLOR: '1',
    HOME: temporaryFolder(),
    PATH: `${bin}:${process.env['PATH']}`,
    ANTHROPIC_API_KEY: 'an-unused-key',
    OPENAI_API_KEY: 'an-unused-key',
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
  };
  const sh = async (command: string): Promise<{ exit: unknown; said: string }> => {
    const done = command.replace(/(--task "[^"]*)"/, `$1 ${DEEDS}"`);
    const child = spawn('sh', ['-c', `{ ${done}\n} 2>&1`], { cwd: folder, env, timeout: 60_000 });
    child.stdin.end();
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [exit] = await once(child, 'close');
    return { exit, said };
  };
  return { folder, sh };
}

/** Removes details that differ between runs, and notes about other runs. */
function told(text: string): string {
  return text
    .replace(/^waiting: other runs .*\n/gm, '')
    .replace(/agent_\d{8}_\d{6}_[0-9a-f]{12}/g, '<run id>')
    .replace(/^ +\d+\.\ds /gm, '<time> ')
    .replace(/exit 0, [\d.]+ m?s$/gm, 'exit 0, <time>');
}

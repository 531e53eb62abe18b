import { spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CODING, codingMove } from '../../stand-ins/coding-models.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { startModelApi } from '../../stand-ins/model-api.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

test('every command in the story of docs/coding-agents.md works in order, and prints the lines shown', async () => {
  const page = readFileSync(path.join(ROOT, 'docs/coding-agents.md'), 'utf8');
  const [story = ''] = page.split('## How a check runs');
  const home = temporaryFolder();
  const env = await environmentIn(home);
  let printed = '';
  const steps = [...story.matchAll(/^<!-- (run by tests in|file) (\S+) -->\n```\w+\n([\s\S]*?)^```$/gm)];
  expect(steps.length).toBeGreaterThan(6);
  for (const [, what, at = '', text = ''] of steps) {
    const place = path.join(home, at);
    mkdirSync(what === 'file' ? path.dirname(place) : place, { recursive: true });
    if (what === 'file') writeFileSync(place, text);
    else for (const line of text.trim().split('\n')) printed += await typed(line, place, env);
  }
  const shown = [...story.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, language]) => language === '')
    .flatMap(([, , text = '']) => text.trimEnd().split('\n'));
  expect(shown.length).toBeGreaterThan(5);
  const without = (text: string): string => text.replace(/\d+(?:\.\d+)? m?s$/gm, 'TIME');
  expect(shown.filter(line => !without(printed).includes(without(line)))).toEqual([]);
  const shop = path.join(home, 'shop');
  expect(gitIn(shop, 'status', '--porcelain')).toBe('');
  expect(gitIn(shop, 'show', 'accept-empty-input:src/parse.js')).toContain('has no equals sign');
});

/** A repository with stand-in agents and their models: `haiku` is sloppy, all others solve the task. */
async function environmentIn(home: string): Promise<NodeJS.ProcessEnv> {
  const shop = path.join(home, 'shop');
  cpSync(path.join(ROOT, CODING, 'tasks', 'empty-input', 'files'), shop, { recursive: true });
  writeFileSync(path.join(shop, '.gitignore'), '.proctor/\n');
  gitIn(shop, 'init', '-q', '-b', 'main');
  gitIn(shop, 'add', '--all');
  gitIn(shop, '-c', 'user.name=alex', '-c', 'user.email=alex@example.org', 'commit', '-q', '-m', 'One');
  const bin = path.join(home, 'bin');
  mkdirSync(bin);
  for (const agent of ['claude', 'codex'] as const) placeAgent(agent, bin, true);
  const proctor = path.join(bin, 'proctor');
  writeFileSync(proctor, `#!/bin/sh\nexec "${process.execPath}" "${path.join(ROOT, 'dist', 'proctor.js')}" "$@"\n`);
  chmodSync(proctor, 0o755);
  const api = await startModelApi((model, _text, results) =>
    codingMove(model === 'haiku' ? 'sloppy' : 'solver', 'empty-input', results),
  );
  onTestFinished(() => api.close());
  const key = 'sk-a-key-that-must-not-leave-its-keeper';
  return {
    PATH: [bin, path.dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: home,
    XDG_STATE_HOME: process.env['XDG_STATE_HOME'],
    NO_COLOR: '1',
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_BASE_URL: api.url,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${api.url}/v1`,
  };
}

/** Runs a line without blocking this process, which serves the model. Expects the exit code that its comment names. */
async function typed(line: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn('sh', ['-c', `{ ${line}\n} 2>&1`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const code = await new Promise<number | null>(resolve => child.once('close', resolve));
  const [, exit = '0'] = /# exit code (\d+)$/.exec(line) ?? [];
  expect({ line, code }, printed).toEqual({ line, code: Number(exit) });
  return printed;
}

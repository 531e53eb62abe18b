import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { temporaryFolder } from './support/support.ts';
import { gitIn } from '../stand-ins/git.ts';
import { agentFolder, repositoryFolder } from '../stand-ins/place.ts';

const AGENTS = ['claude', 'codex'] as const;

function told(agent: 'claude' | 'codex', task: string, cwd = temporaryFolder()): SpawnSyncReturns<string> {
  return spawnSync(path.join(agentFolder(agent), agent), ['-'], {
    input: task,
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
    timeout: 20_000,
    maxBuffer: 16 * 1024 ** 2,
  });
}

const typesIn = (stdout: string): string[] =>
  stdout
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { type: string }).type);

test('each stand-in reports the version of the real agent', () => {
  const versions = AGENTS.map(
    agent => spawnSync(path.join(agentFolder(agent), agent), ['--version'], { encoding: 'utf8' }).stdout,
  );
  expect(versions).toEqual(['2.1.325 (Claude Code)\n', 'codex-cli 0.166.0\n']);
});

test('a stand-in performs its task and reports it in the format of the real agent', () => {
  const cwd = repositoryFolder();
  const claude = told('claude', 'Please DO=write and then DO=commit', cwd);
  expect(claude.status).toBe(0);
  expect(typesIn(claude.stdout)).toEqual(['system', 'assistant', 'user', 'assistant', 'user', 'assistant', 'result']);
  expect(existsSync(path.join(cwd, 'hello.txt'))).toBe(true);
  expect(gitIn(cwd, 'log', '--format=%s')).toBe('A commit of the agent\nOne\n');

  const codex = told('codex', 'DO=write:src/new.txt DO=warn', cwd);
  expect(codex.status).toBe(0);
  expect(typesIn(codex.stdout)).toEqual([
    'thread.started',
    'turn.started',
    'item.started',
    'item.completed',
    'item.completed',
    'item.completed',
    'turn.completed',
  ]);
  expect(readFileSync(path.join(cwd, 'src', 'new.txt'), 'utf8')).toBe('hello from the agent\n');
});

test.each([
  ['an unknown word', 'DO=nonsense', 64],
  ['an impossible action', 'DO=delete:nowhere.txt', 70],
  ['an exit code', 'DO=exit:3', 3],
  ['an API error', 'DO=api_error:500', 1],
  ['an API error that the exit code hides', 'DO=api_error_exit_0', 0],
])('%s ends as specified', (_what, task, code) => {
  expect(AGENTS.map(agent => told(agent, task).status)).toEqual([code, code]);
});

test('every finite action ends', () => {
  const cwd = repositoryFolder();
  const task = `DO=say DO=lines:10 DO=deny DO=blocked DO=failed_command DO=tested DO=claim_tests DO=unknown DO=bad_utf8 DO=not_json
    DO=on_stderr DO=look DO=append DO=big:5000 DO=many:3 DO=binary DO=symlink DO=fifo DO=odd_name DO=nested DO=move:other DO=rewrite
    DO=branch DO=tag DO=push DO=hook DO=config DO=attributes DO=ignore DO=retry:2 DO=flood:100000 DO=flood_stderr:100000
    DO=long_line:2000000 DO=quiet_tool:5 DO=wait:5 DO=tell:PATH DO=connect:127.0.0.1:1 DO=twice`;
  const { status, stdout, stderr } = told('claude', task, cwd);
  expect(status, stderr.slice(-500)).toBe(0);
  expect(stdout).toContain('All tests pass.');
  expect(readFileSync(path.join(cwd, 'net.txt'), 'utf8')).toMatch(/^NET-BLOCKED/);
});

test('processes that a stand-in leaves behind outlive it and keep writing', async () => {
  const cwd = temporaryFolder();
  expect(told('codex', 'DO=detach:0', cwd).status).toBe(0);
  const late = path.join(cwd, 'late.txt');
  for (let waited = 0; waited < 200 && !existsSync(late); waited++) await rest(50);
  expect(readFileSync(late, 'utf8')).toBe('late\n');
});

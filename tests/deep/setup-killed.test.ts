import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { WorkspaceStatus } from '../../src/contracts/workspace/index.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { endProcess, processesWith, type Started, until } from '../support/runs.ts';
import { AgentWorld, placePrograms } from '../run/agent/world.ts';
import { doing } from './check-world.ts';

placePrograms();

/** A command that hangs until it is killed. Its last argument identifies its processes on this machine. */
const hang = (marker: string): string => `sh -c 'sleep 600; true' ${marker}`;
const SETUP = 'mkdir -p build; echo dep > build/dep; echo lock > lock.txt';

interface Begun {
  readonly world: AgentWorld;
  readonly started: Started;
  readonly env: NodeJS.ProcessEnv;
  readonly cache: string;
  readonly marker: string;
}

/** Starts a run from a bundle with a setup and a check. Waits until the setup, the agent or the check hangs. */
async function hanging(at: 'setup' | 'agent' | 'check'): Promise<Begun> {
  const world = new AgentWorld({ 'README.md': 'A project.\n', '.gitignore': 'build\n' });
  gitIn(world.repository, 'bundle', 'create', '-q', path.join(world.place.cwd, 'task.bundle'), '--all');
  const state = path.join(world.place.cwd, 'state');
  mkdirSync(state, { mode: 0o700 });
  const env = { XDG_STATE_HOME: state };
  const marker = `setup-killed-${process.pid}-${at}`;
  const commands = { setup: SETUP, agent: 'echo changed >> README.md', check: 'test -f build/dep' };
  commands[at] += `; ${hang(marker)}`;
  const flags = ['--repository', 'task.bundle', '--setup', commands.setup, '--check', `unit=${commands.check}`];
  const args = world.args('claude', doing(commands.agent), flags);
  args.splice(args.indexOf('--dir'), 2);
  const started = world.place.start(args, { ...world.environment, ...env });
  onTestFinished(() => void endProcess(started.pid));
  await until(`the ${at} hangs`, () => started.isOver || processesWith(marker).length > 0);
  expect(started.isOver, started.stdout + started.stderr).toBe(false);
  return { world, started, env, cache: path.join(state, 'proctor', 'setup-cache'), marker };
}

const read = (folder: string, file: string): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));

const entriesOf = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

// The world verifies every run folder after each test, and expects no temporary files.

test.each([
  ['Proctor', () => undefined],
  ['Proctor and its launcher', (started: Started) => started.launcher()],
])('after recover, a setup that died with %s has left no run, process, stage or cache entry', async (_, also) => {
  const { world, started, env, cache, marker } = await hanging('setup');
  const launcher = also(started);
  started.kill('SIGKILL');
  if (launcher !== undefined) endProcess(launcher);
  await started.ended;
  expect(world.tried(['recover'], env).code).toBe(0);
  await until('its processes are gone', () => processesWith(marker).length === 0);
  await until('its stages are gone', () => readdirSync(world.place.temp).length === 0);
  expect(world.place.runFolders()).toEqual([]);
  expect(entriesOf(cache)).toEqual([]);
});

test.each(['agent', 'check'] as const)(
  'a run that dies during its %s recovers with only the changes of the agent, not those of its setup',
  async at => {
    const { world, started, env, marker } = await hanging(at);
    started.kill('SIGKILL');
    await started.ended;
    const { code, stdout, stderr } = world.tried(['recover'], env);
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining('was interrupted')]);
    await until('its processes are gone', () => processesWith(marker).length === 0);
    await until('its stages are gone', () => readdirSync(world.place.temp).length === 0);
    const [folder = ''] = world.place.runFolders();
    expect(read(folder, 'evidence/outcome.json')).toMatchObject({
      termination: 'error',
      reason: 'interrupted',
      base: { kind: 'bundle', name: 'task.bundle', setup: { cached: false, changed: 1, ignored: 1 } },
    });
    const status = read(folder, 'evidence/steps/agent/workspace_status.json') as WorkspaceStatus;
    expect(status.changed.listed.map(({ path: changed }) => changed)).toEqual(['README.md']);
    expect(status.ignored.listed).toEqual([]);
  },
);

test('an interrupted setup prints a message, and leaves no process, stage, run or cache entry', async () => {
  const { world, started, cache, marker } = await hanging('setup');
  started.kill('SIGINT');
  const { code, stdout, stderr } = await started.ended;
  expect(code, stderr).toBe(130);
  expect(stdout + stderr).toContain('The setup command was cancelled, so the agent did not start.');
  expect(processesWith(marker)).toEqual([]);
  expect(readdirSync(world.place.temp)).toEqual([]);
  expect(world.place.runFolders()).toEqual([]);
  expect(entriesOf(cache)).toEqual([]);
});

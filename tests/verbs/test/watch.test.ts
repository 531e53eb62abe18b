import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { type WatchHooks, watchProject } from '../../../src/verbs/test/watch.ts';
import { PROJECT, projectFolder, WORSE } from './world.ts';

afterAll(closeLauncher);

const environment = { PATH: process.env['PATH'] };

/** Watches a project, and acts each time it waits for a change. The last act stops it. */
async function watched(cwd: string, acts: readonly (() => void)[]) {
  const stop = new AbortController();
  const seen: string[] = [];
  const hooks: WatchHooks = {
    onResult: ({ exitCode }) => seen.push(`exit ${exitCode}`),
    onFault: ({ code }) => seen.push(code),
    onWait: () => (acts[seen.filter(word => word === 'wait').length] ?? (() => stop.abort()))() ?? seen.push('wait'),
    onChange: file => seen.push(`changed ${file}`),
    onIgnored: file => seen.push(`ignored ${file}`),
  };
  const last = await watchProject({ cwd, environment, signal: stop.signal }, hooks);
  return { seen, last };
}

test('a watched project is tested again when the agent or the project file changes', async () => {
  const cwd = projectFolder();
  const { seen, last } = await watched(cwd, [
    () => writeFileSync(path.join(cwd, 'agent.mjs'), WORSE),
    () => writeFileSync(path.join(cwd, 'proctor.yaml'), 'schema_version: project.v9\n'),
    () => writeFileSync(path.join(cwd, 'proctor.yaml'), PROJECT.replace('max_failing: 0', 'max_failing: 1')),
  ]);
  expect(seen).toEqual([
    'exit 0',
    'wait',
    'changed agent.mjs',
    'exit 1',
    'wait',
    'changed proctor.yaml',
    'project_invalid',
    'wait',
    'changed proctor.yaml',
    'exit 0',
    'wait',
  ]);
  expect(last?.exitCode).toBe(0);
});

test('a file that the agent writes in every run does not start tests forever', async () => {
  const cwd = projectFolder();
  appendFileSync(
    path.join(cwd, 'agent.mjs'),
    "import { appendFileSync } from 'node:fs';\nappendFileSync('agent.log', 'started\\n');\n",
  );
  const { seen } = await watched(cwd, [() => undefined]);
  expect(seen).toEqual(['exit 0', 'wait', 'changed agent.log', 'exit 0', 'ignored agent.log', 'wait']);
});

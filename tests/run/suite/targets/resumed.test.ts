import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ResumeOptions, resumeSuite } from '../../../../src/verbs/resume-suite.ts';
import { runSuite } from '../../../../src/verbs/run-suite.ts';
import { temporaryFolder } from '../../../support/support.ts';
import { expectValid } from '../support.ts';

const AGENT = `
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
console.log('session of version', readFileSync('version.txt', 'utf8').trim());
const answer = { final_output: { content_type: 'text', content: 'Hi' } };
createServer((request, response) => request.resume().on('end', () => response.end(JSON.stringify(answer))))
  .listen(Number(process.argv[2]), '127.0.0.1');
`;

const TARGET = {
  kind: 'proctor',
  url: 'http://127.0.0.1:${port}',
  start: { run: ['node', 'agent.mjs', '${port}'] },
  version: { run: ['sh', '-c', 'echo once >> asked.txt; cat version.txt'] },
  provenance: { model: 'desk-1' },
};

/** A run that was stopped after its first case. */
async function stoppedRun() {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'agent.mjs'), AGENT);
  writeFileSync(path.join(cwd, 'version.txt'), '1.0\n');
  writeFileSync(path.join(cwd, 'target.json'), JSON.stringify(TARGET));
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(['a', 'b'].map(id => ({ id, input: { user: id } }))));
  const stop = new AbortController();
  const { environment } = WORLD;
  const options = { cases: 'cases.json', as: 'new', runId: 'stopped', target: 'target.json', concurrency: 1 } as const;
  const onProgress = () => stop.abort();
  const { runs } = await runSuite({ ...options, cwd, environment, signal: stop.signal, onProgress });
  expect(runs[0]).toMatchObject({ isOpen: true, ok: 1 });
  return { cwd, folder: runs[0]?.place.folder as string };
}

const WORLD = { environment: process.env, variable: () => undefined };

const resume = (cwd: string, options: Partial<ResumeOptions> = {}) =>
  resumeSuite('stopped', { ...WORLD, cwd, ...options });

const becomes = (cwd: string, version: string): void => writeFileSync(path.join(cwd, 'version.txt'), version);

const timesAsked = (cwd: string): number => readFileSync(path.join(cwd, 'asked.txt'), 'utf8').split('once').length - 1;

const requestIn = (folder: string) =>
  JSON.parse(readFileSync(path.join(folder, 'evidence/request.json'), 'utf8')) as { provenance?: object };

const logsIn = (folder: string): string[] =>
  readdirSync(path.join(folder, 'assets'))
    .filter(name => name.endsWith('.log'))
    .sort();

describe('a resumed run', () => {
  test('keeps the log of every session as evidence', async () => {
    const { cwd, folder } = await stoppedRun();
    expect(logsIn(folder)).toEqual(['target.1.log']);
    const stop = new AbortController();
    stop.abort();
    await expect(resume(cwd, { signal: stop.signal })).rejects.toThrow('The run was cancelled');
    expect((await resume(cwd)).runs[0]).toMatchObject({ isOpen: false, ok: 2 });
    expect(logsIn(folder)).toEqual(['target.1.log', 'target.log']);
    const manifest = readFileSync(path.join(folder, 'assets/manifest.json'), 'utf8');
    for (const name of logsIn(folder)) {
      expect(readFileSync(path.join(folder, 'assets', name), 'utf8')).toBe('session of version 1.0\n');
      expect(manifest).toContain(`"assets/${name}"`);
    }
    await expectValid(folder);
  });

  test('asks for the version again, and refuses another agent', async () => {
    const { cwd, folder } = await stoppedRun();
    becomes(cwd, '2.0\n');
    await expect(resume(cwd)).rejects.toThrow(
      'The run started with version 1.0 of the target, and it is version 2.0 now. Restore it, or start a new run.',
    );
    becomes(cwd, '');
    await expect(resume(cwd)).rejects.toThrow('and its version is unknown now.');
    becomes(cwd, '1.0');
    expect((await resume(cwd)).runs[0]).toMatchObject({ isOpen: false, ok: 2 });
    expect(requestIn(folder).provenance).toEqual({ model: 'desk-1', agent_version: '1.0' });
  });
});

describe('a run from another machine', () => {
  async function copiedRun() {
    const { cwd: from, folder: original } = await stoppedRun();
    const cwd = temporaryFolder();
    cpSync(from, cwd, { recursive: true });
    return { cwd, folder: path.join(cwd, path.relative(from, original)), before: timesAsked(cwd) };
  }

  test('keeps the provenance, and asks for the version once', async () => {
    const { cwd, folder, before } = await copiedRun();
    expect((await resume(cwd, { target: 'target.json' })).runs[0]).toMatchObject({ isOpen: false, ok: 2 });
    expect(timesAsked(cwd)).toBe(before + 1);
    expect(requestIn(folder).provenance).toEqual({ model: 'desk-1', agent_version: '1.0' });
    expect(existsSync(path.join(folder, 'assets/target.log'))).toBe(true);
    await expectValid(folder);
  });

  test('is not continued with another version of the agent', async () => {
    const { cwd } = await copiedRun();
    becomes(cwd, '2.0');
    await expect(resume(cwd, { target: 'target.json' })).rejects.toThrow('it is version 2.0 now');
  });
});

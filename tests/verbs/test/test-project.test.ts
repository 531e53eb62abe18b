import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { readSuiteFolder } from '../../../src/evidence/suite/suite-folder.ts';
import { SpanExporter } from '../../../src/trace/exporter.ts';
import { Tracer } from '../../../src/trace/tracer.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { testProject } from '../../../src/verbs/test/test-project.ts';
import { TestCollector } from '../../support/collector.ts';
import { PROJECT, projectFolder, WORSE } from './world.ts';

afterAll(closeLauncher);

const environment = { PATH: process.env['PATH'] };

describe('a test of a project', () => {
  test('is decided by the limits alone until there is a baseline', async () => {
    const cwd = projectFolder();
    const good = await testProject({ cwd, environment });
    expect(good).toMatchObject({ exitCode: 0, suites: [{ name: 'desk', comparison: null, accepted: null }] });
    expect(good.suites[0]?.run?.runs[0]?.judged).toMatchObject({ total: 2, passed: 2 });
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const bad = await testProject({ cwd, environment });
    expect(bad.exitCode).toBe(1);
    expect(bad.suites[0]?.run?.checks).toMatchObject([{ limit: 'max_failing', measured: 1, is_met: false }]);
    expect(bad.suites[0]?.run?.runs[0]?.notPassed).toEqual(['returns']);
  });

  test('compares with the accepted baseline, and finds the regressed case', async () => {
    const cwd = projectFolder();
    const accepted = await testProject({ cwd, environment, accept: true });
    expect(accepted).toMatchObject({ exitCode: 0, suites: [{ accepted: { isNew: true, cases: 2, passed: 2 } }] });
    expect(existsSync(path.join(cwd, 'proctor/baselines/desk.json'))).toBe(true);
    expect((await testProject({ cwd, environment })).suites[0]?.comparison).toMatchObject({ verdict: 'no_regression' });
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const { exitCode, suites } = await testProject({ cwd, environment });
    expect(exitCode).toBe(1);
    const regressed = suites[0]?.comparison?.cases.find(({ case_id }) => case_id === 'returns');
    expect(regressed).toMatchObject({ change: 'regressed' });
    expect(suites[0]?.comparison?.again).toBeUndefined();
  });

  test('reruns suspect cases if no limit has decided', async () => {
    const cwd = projectFolder(PROJECT.replace('{ limits: { max_failing: 0 } }', '{ again: { max_trials: 3 } }'));
    await testProject({ cwd, environment, accept: true });
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const rounds: number[] = [];
    const { suites } = await testProject({ cwd, environment, onRound: ({ round }) => rounds.push(round) });
    expect(rounds).toEqual([1, 2, 3]);
    expect(suites[0]?.comparison?.again).toMatchObject({ sides: 'new', rounds: 3, stopped: 'trials' });
  });

  test('has a trace for each round of suspect cases, with their attempts', async () => {
    const cwd = projectFolder(PROJECT.replace('{ limits: { max_failing: 0 } }', '{ again: { max_trials: 2 } }'));
    await testProject({ cwd, environment, accept: true });
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const collector = new TestCollector();
    const url = `${await collector.start()}/v1/traces`;
    onTestFinished(() => collector.stop());
    const exporter = new SpanExporter({ url, headers: {}, timeoutMs: 5_000, resource: [] });
    await testProject({ cwd, environment, tracer: new Tracer(exporter, undefined) });
    await exporter.end();
    const runs = collector.all('proctor.run');
    expect(runs.map(({ attributes }) => attributes['proctor.cases.total'])).toEqual([2, 1, 1]);
    for (const round of runs.slice(1))
      expect(collector.one('proctor.attempt', round).attributes).toMatchObject({ 'proctor.case.id': 'returns' });
  });

  test('does not accept a result that misses a limit', async () => {
    const cwd = projectFolder();
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const { exitCode, suites } = await testProject({ cwd, environment, accept: true });
    expect([exitCode, suites[0]?.accepted]).toEqual([1, null]);
    expect(existsSync(path.join(cwd, 'proctor/baselines/desk.json'))).toBe(false);
  });

  test('does not accept a baseline from only some of the cases', async () => {
    const refused = testProject({ cwd: projectFolder(), environment, accept: true, only: ['opening'] });
    await expect(refused).rejects.toThrow('Use either --accept or --only');
  });

  test('does not accept a result of a suite with sides, because its verdict would no longer count', async () => {
    const cwd = projectFolder(PROJECT.replace('target: desk', 'sides: { baseline: desk, new: worse }'));
    const refused = testProject({ cwd, environment, accept: true });
    await expect(refused).rejects.toThrow('The suite desk runs both sides, so it has no baseline to accept.');
  });

  test('does not treat an unreadable baseline as missing', async () => {
    const cwd = projectFolder(`${PROJECT}baselines: proctor/cases.yaml/baselines\n`);
    const inFile = await testProject({ cwd, environment });
    expect(inFile.suites[0]).toMatchObject({ exitCode: 2, fault: { code: 'baseline_unreadable' } });
    const linked = projectFolder();
    mkdirSync(path.join(linked, 'proctor/baselines'));
    symlinkSync('nowhere.json', path.join(linked, 'proctor/baselines/desk.json'));
    expect((await testProject({ cwd: linked, environment })).exitCode).toBe(2);
  });

  test('finds its target although a folder or a file has the same name', async () => {
    const cwd = projectFolder();
    mkdirSync(path.join(cwd, 'desk'));
    expect((await testProject({ cwd, environment })).exitCode).toBe(0);
    rmdirSync(path.join(cwd, 'desk'));
    writeFileSync(path.join(cwd, 'desk'), 'schema_version: target.v1\n');
    expect((await testProject({ cwd, environment })).exitCode).toBe(0);
  });

  test('does not pass if an interrupt skips a suite', async () => {
    const cwd = projectFolder(
      `${PROJECT.replace('gate:', '  second: { cases: proctor/cases.yaml, target: desk }\ngate:')}`,
    );
    const stop = new AbortController();
    const onTested = () => stop.abort();
    const { exitCode, suites } = await testProject({ cwd, environment, signal: stop.signal, onTested });
    expect(suites.map(one => [one.name, one.exitCode])).toEqual([['desk', 0]]);
    expect(exitCode).toBe(1);
  });

  test('warns if an agent that it did not start answers', async () => {
    const server = createServer((_request, response) => void response.end('{"answer":"We open at 9. Yes, 30 days."}'));
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const reusing = PROJECT.replaceAll('127.0.0.1:${port}', `127.0.0.1:${port}`).replaceAll(
      'start: {',
      'start: { reuse: if-running,',
    );
    const warnings: string[] = [];
    const onWarning = (sentence: string) => void warnings.push(sentence);
    const { exitCode } = await testProject({ cwd: projectFolder(reusing), environment, onWarning });
    await new Promise(resolve => void server.close(resolve));
    expect(exitCode).toBe(0);
    expect(warnings).toEqual([
      `A program already listens on port ${port}, so Proctor tests that one and does not start its own. Restart it after a change.`,
    ]);
  });

  test('runs both targets of a suite with sides', async () => {
    const sides = PROJECT.replace('target: desk', 'sides: { baseline: desk, new: worse }').replace(
      'gate: { limits: { max_failing: 0 } }',
      'gate: { mode: strict }',
    );
    const { exitCode, suites } = await testProject({ cwd: projectFolder(sides), environment });
    expect(exitCode).toBe(1);
    expect(suites[0]?.comparison).toMatchObject({ verdict: 'regression', sides: { baseline: { trials: 1 } } });
  });

  test('reports a suite that cannot run, and continues with the others', async () => {
    const second = `${PROJECT.replace('    target: desk\n', '    target: desk\n  broken: { cases: proctor/none.yaml, target: desk }\n')}`;
    const { exitCode, suites } = await testProject({ cwd: projectFolder(second), environment });
    expect(exitCode).toBe(2);
    expect(suites.map(({ name, exitCode: code }) => [name, code])).toEqual([
      ['desk', 0],
      ['broken', 2],
    ]);
    expect(suites[1]?.fault?.message).toMatch(/none\.yaml/);
  });

  test('writes the reports of each suite to its own folder', async () => {
    const cwd = projectFolder();
    const { suites } = await testProject({ cwd, environment, formats: ['junit', 'md'], out: 'out' });
    expect(Object.keys(suites[0]?.reports ?? {})).toEqual(['junit', 'md']);
    expect(readFileSync(path.join(cwd, 'out/desk/junit.xml'), 'utf8')).toContain('returns');
  });

  test('leaves no earlier report behind if a suite cannot run', async () => {
    const cwd = projectFolder();
    await testProject({ cwd, environment, formats: ['junit', 'md', 'html'], out: 'out' });
    writeFileSync(path.join(cwd, 'out/desk/notes.txt'), '');
    writeFileSync(path.join(cwd, 'agent.mjs'), 'process.exit(1);');
    expect((await testProject({ cwd, environment, formats: ['junit'], out: 'out' })).exitCode).toBe(2);
    expect(readdirSync(path.join(cwd, 'out/desk'))).toEqual(['notes.txt']);
  });

  test('refuses a folder for reports that it cannot create, before it runs the suite', async () => {
    const cwd = projectFolder();
    writeFileSync(path.join(cwd, 'out'), '');
    const { suites, exitCode } = await testProject({ cwd, environment, formats: ['junit'], out: 'out' });
    expect(suites[0]?.fault?.message).toMatch(/^Cannot create the folder for the reports/);
    expect({ exitCode, run: suites[0]?.run }).toEqual({ exitCode: 2, run: null });
  });

  test('masks its secrets, and stops before it runs if one is missing', async () => {
    const cwd = projectFolder(`${PROJECT}secrets: [DESK_WORD]\n`);
    const missing = await testProject({ cwd, environment });
    expect(missing.suites[0]?.fault?.message).toMatch(/DESK_WORD, which is not set/);
    const { suites } = await testProject({ cwd, environment: { ...environment, DESK_WORD: 'within 30' } });
    const folder = suites[0]?.run?.runs[0]?.place.folder as string;
    expect(readFileSync(path.join(folder, 'returns.json'), 'utf8')).not.toContain('within 30');
  });

  test('tests only the named suites and cases', async () => {
    const cwd = projectFolder();
    const { suites } = await testProject({ cwd, environment, suites: ['desk'], only: ['opening'] });
    expect(suites[0]?.run?.runs[0]?.total).toBe(1);
    await expect(testProject({ cwd, environment, suites: ['dask'] })).rejects.toThrow(
      'proctor.yaml has no suite "dask". Did you mean "desk"? Suites: desk.',
    );
  });

  test('runs a script as a target, with the limits of its declaration', async () => {
    const cwd = projectFolder(`schema_version: project.v1
targets:
  desk: { kind: script, file: desk-script.mjs, timeout: 30s }
suites:
  desk: { cases: proctor/cases.yaml, target: desk }
`);
    const { exitCode, suites } = await testProject({ cwd, environment });
    expect(exitCode).toBe(0);
    const { request } = readSuiteFolder(suites[0]?.run?.runs[0]?.place.folder as string);
    expect(request).toMatchObject({ target: { kind: 'script' }, settings: { timeout_ms: 30_000 } });
  });

  test('shows the repetition in which most cases failed', async () => {
    const cwd = projectFolder(PROJECT.replace('{ limits: { max_failing: 0 } }', '{ mode: strict }'));
    // Fails only in the second of three runs: each run starts the agent anew.
    writeFileSync(
      path.join(cwd, 'agent.mjs'),
      `import { existsSync, writeFileSync } from 'node:fs';
const starts = [1, 2].filter(number => existsSync('start-' + number)).length + 1;
writeFileSync('start-' + starts, '');
await import(starts === 2 ? './worse.mjs' : './good.mjs');
`,
    );
    writeFileSync(path.join(cwd, 'good.mjs'), WORSE.replace('14 days', '30 days'));
    const { suites } = await testProject({ cwd, environment, repeat: 3 });
    expect(suites[0]?.run?.runs.map(({ judged }) => judged?.passed)).toEqual([2, 1, 2]);
    expect(suites[0]?.subject).toMatchObject({ repetition: { number: 2, total: 3 } });
  });
});

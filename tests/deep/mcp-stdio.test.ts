import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { tryTarget } from '../../src/verbs/try-target.ts';
import { isAlive } from '../../src/execute/host/processes.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';
import { everythingIn, expectValid } from '../run/suite/support.ts';
import { ranDeclared, rulesAfterChange } from '../run/suite/targets/declared-world.ts';

const IDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

const declarationOf = (file: string, words: readonly string[] = [], more: object = {}): object => ({
  kind: 'mcp-tool',
  run: [process.execPath, path.join(ROOT, 'tests/fixtures', file), ...words],
  tool: 'ask',
  arguments: { question: '${input.user}' },
  ...more,
});

const TOOL_SERVER = 'mcp-tool-server.mjs';
const LINE_SERVER = 'mcp-line-server.mjs';

const pidIn = (content: unknown): number => Number(/\((\d+)\)$/.exec(String(content))?.[1]);

describe('an MCP tool over standard streams', () => {
  test('is called in a single server process, which ends with the run', async () => {
    const token = 'tok_4f9a8b7c6d5e';
    const declaration = declarationOf(TOOL_SERVER, [], { env: { DESK_TOKEN: '${env:SECRET}' } });
    const options = { concurrency: 8, environment: { SECRET: token } };
    const { folder, artifact, run, bytes } = await ranDeclared([...IDS, 'pings', 'wrong'], declaration, options);
    expect(run.stats).toMatchObject({ cases_completed: IDS.length + 1, cases_failed: 1 });
    expect(artifact('wrong').runner_failure).toMatchObject({ class: 'schema_mismatch', error_name: 'AGENT_FAILED' });
    const pids = new Set([...IDS, 'pings'].map(id => pidIn(artifact(id).final_output?.content)));
    expect(pids.size).toBe(1);
    expect([...pids].filter(isAlive)).toEqual([]);
    expect(bytes('assets/target.log').toString()).toContain('asked What about one? with [masked]\n');
    expect(everythingIn(folder)).not.toContain(token);
    await expectValid(folder);
    expect(await rulesAfterChange(folder, 'You asked', 'I asked')).toContain('FD14');
  });

  test('is called in a new process if the server dies', async () => {
    const { folder, artifact, bytes } = await ranDeclared(['one', 'dies', 'two'], declarationOf(TOOL_SERVER), {
      concurrency: 1,
    });
    expect(artifact('dies').runner_failure).toMatchObject({ class: 'network_error', error_name: 'AGENT_ENDED' });
    expect(artifact('two').status).toBe('ok');
    expect(pidIn(artifact('two').final_output?.content)).not.toBe(pidIn(artifact('one').final_output?.content));
    expect(bytes('assets/target.log').toString()).toContain('[Proctor started the program again]\n');
    await expectValid(folder);
  });

  test.each([
    ['speaks the revision without sessions', []],
    ['ignores an unknown request', ['ignores-discover']],
    ['ends at a request before `initialize`', ['dies-unless-initialized']],
  ])('is called if the server %s', async (_what, words) => {
    const { folder, run } = await ranDeclared(IDS, declarationOf(LINE_SERVER, words), {
      concurrency: 8,
      timeoutMs: 20_000,
    });
    expect(run.stats).toMatchObject({ cases_completed: IDS.length, cases_failed: 0 });
    await expectValid(folder);
  });

  test('can be called by proctor try, which leaves no process behind', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'tool.json'), JSON.stringify(declarationOf(TOOL_SERVER)));
    const environment = { PATH: process.env['PATH'] };
    const tried = await tryTarget({ target: 'tool.json', text: 'Where is my order?', cwd, environment });
    expect(tried.artifact.final_output?.content).toMatch(/^You asked: Where is my order\? \(\d+\)$/);
    expect(tried.exchanges).toHaveLength(3);
    expect(isAlive(pidIn(tried.artifact.final_output?.content))).toBe(false);
  });
});

const FAULTS: readonly (readonly [id: string, failure: object])[] = [
  ['writes-no-json', { class: 'invalid_json' }],
  ['repeats-a-key', { class: 'invalid_json' }],
  ['writes-much', { class: 'schema_mismatch', error_name: 'TOO_LARGE' }],
  ['reports-an-error', { class: 'schema_mismatch', error_name: 'AGENT_FAILED' }],
];

describe('an MCP server over standard streams', () => {
  test('that sends bad replies gets an artifact for each case, and continues', async () => {
    const ids = FAULTS.map(([id]) => id);
    const { folder, artifact } = await ranDeclared([...ids, 'fine', 'writes-a-banner'], declarationOf(LINE_SERVER), {
      concurrency: 8,
      breakerFailures: 0,
    });
    for (const [id, failure] of FAULTS) expect(artifact(id).runner_failure, id).toMatchObject(failure);
    expect(artifact('fine').final_output?.content).toBe('You asked: fine');
    expect(artifact('writes-a-banner').final_output?.content).toBe('Fine');
    await expectValid(folder);
  });

  test('that sends notifications without end is stopped, and started again for the next case', async () => {
    const { artifact } = await ranDeclared(['never-stops-notifying', 'fine'], declarationOf(LINE_SERVER), {
      concurrency: 1,
    });
    expect(artifact('never-stops-notifying').runner_failure).toMatchObject({ error_name: 'TOO_MANY_MESSAGES' });
    expect(artifact('fine').status).toBe('ok');
  });

  test('that falls silent, or answers another request, is stopped by a time limit', async () => {
    const idle = await ranDeclared(['silent'], declarationOf(LINE_SERVER), { idleMs: 500 });
    expect(idle.artifact('silent').runner_failure).toMatchObject({ class: 'timeout', error_name: 'IDLE' });
    const late = await ranDeclared(['has-a-wrong-id'], declarationOf(LINE_SERVER), { timeoutMs: 1_500 });
    expect(late.artifact('has-a-wrong-id').runner_failure).toMatchObject({ class: 'timeout', timeout_ms: 1_500 });
    await expectValid(late.folder);
  });

  test('that does not exist causes a fault', async () => {
    const declaration = { ...declarationOf(LINE_SERVER), run: ['no-such-program-anywhere'] };
    await expect(ranDeclared(['one'], declaration)).rejects.toThrow(/was not found in PATH/);
  });
});

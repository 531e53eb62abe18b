import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModelIo, modelIo } from '../../../src/contracts/intent/index.ts';
import { check } from '../../../src/contracts/check.ts';
import { reproduce } from '../../../src/verbs/reproduce.ts';
import type { RunIntentOptions } from '../../../src/verbs/run-intent.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { placeAgent } from '../../../stand-ins/place-agent.ts';
import { proctor, temporaryFolder } from '../../support/support.ts';
import { canonicalPart, node, ran, saidIn, strictTroubles, toldOf } from './world.ts';

/** An environment with stand-ins for the agents on the PATH. */
const bin = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
beforeAll(() => {
  for (const agent of ['claude', 'codex'] as const) placeAgent(agent, bin);
});
afterAll(async () => {
  rmSync(bin, { recursive: true, force: true });
  await closeLauncher();
});

const PLAN = { commands: [node('console.log("hello")')] };
const environment = {
  PATH: `${bin}:${process.env['PATH']}`,
  ANTHROPIC_API_KEY: 'sk-a-key-of-nobody',
  // Nothing listens there, and the stand-ins send no requests.
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  OPENAI_API_KEY: 'sk-a-key-of-nobody',
  OPENAI_BASE_URL: 'http://127.0.0.1:9',
};

/** A goal that makes a stand-in give this answer. */
const goalFor = (answer: unknown): { goal: string } => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return { goal: `Say hello (DO=final:${Buffer.from(text).toString('base64url')} of course)` };
};

async function planned(intent: object, options: Partial<RunIntentOptions> = {}) {
  const cwd = options.cwd ?? temporaryFolder();
  const recording = path.join(cwd, 'plan.json');
  const more = { policy: 'dev', modelMode: 'record', recording, planner: 'claude', environment, cwd } as const;
  return { cwd, recording, answer: await ran(intent, { ...more, ...options }) };
}

/** The fault of a run that must fail, and the files that it left. */
async function refused(intent: object, options: Partial<RunIntentOptions> = {}) {
  const cwd = temporaryFolder();
  const told = await planned(intent, { cwd, ...options }).then(() => 'nothing', toldOf);
  return { told, isRecorded: existsSync(path.join(cwd, 'plan.json')), runs: runsIn(cwd) };
}

const runsIn = (cwd: string, lane = 'agent'): string[] => {
  const folder = path.join(cwd, '.proctor', 'runs', lane);
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe.each(['claude', 'codex'] as const)('a goal that %s plans', planner => {
  test('is executed and recorded, and replays from the recording alone', async () => {
    const intent = goalFor(PLAN);
    const { cwd, recording, answer } = await planned(intent, { planner });
    const { result, folder, internal, plannedBy } = answer;
    expect(result).toMatchObject({ kernel_result_kind: 'BUNDLE', model_mode: 'record', decision: { accepted: true } });
    expect(saidIn(folder)).toBe('hello\n');
    expect(internal.model_io_path).toBe(recording);
    const session = JSON.parse(readFileSync(recording, 'utf8')) as ModelIo;
    expect(check(modelIo, session, { strict: true, internal: false })).toMatchObject({ violations: [], advice: [] });
    expect(session).toMatchObject({
      adapter_id: planner === 'claude' ? 'claude_cli@2.1.325' : 'codex_cli@0.166.0',
      mode: 'record',
      interactions: [{ i: 0, response_content: JSON.stringify(PLAN), tokens_input: expect.any(Number) as never }],
    });
    expect(readFileSync(path.join(folder, 'model_io.json'))).toEqual(readFileSync(recording));

    expect(runsIn(cwd)).toEqual([plannedBy?.runId]);
    expect(plannedBy).toMatchObject({ termination: 'completed', changes: { files: 0 } });
    expect(await strictTroubles(plannedBy?.folder ?? '')).toEqual([]);

    const again = await ran(intent, { policy: 'dev', modelMode: 'replay', recording, planner, cwd });
    expect(again.plannedBy).toBe(null);
    expect(runsIn(cwd)).toHaveLength(1);
    const { model_mode: now, ...rest } = JSON.parse(canonicalPart(again.result)) as Record<string, unknown>;
    expect(now).toBe('replay');
    expect({ ...rest, model_mode: 'record' }).toEqual(JSON.parse(canonicalPart(result)));
    expect(await reproduce(folder, { cwd: temporaryFolder() })).toMatchObject({ same: true, first: undefined });
  });
});

test('unwraps a fenced answer, and records it unchanged', async () => {
  const said = `\`\`\`json\n${JSON.stringify(PLAN)}\n\`\`\`\n`;
  const { answer, recording } = await planned(goalFor(said));
  expect(answer.result.decision.accepted).toBe(true);
  expect((JSON.parse(readFileSync(recording, 'utf8')) as ModelIo).interactions[0]?.response_content).toBe(said);
});

test.each([
  ['already has commands', { goal: 'Say hello', ...PLAN }, 'BUNDLE'],
  ['has open questions', { goal: 'Say <what>' }, 'CLARIFY'],
  ['contradicts itself', { goal: 'Say it', constraints: ['must be sync', 'must be async'] }, 'CLARIFY'],
  ['is refused anyway', { goal: 'Say hello', network: true }, 'REFUSE'],
])('does not call the planner if an intent %s', async (_, intent, kind) => {
  const warnings: string[] = [];
  const { cwd, recording, answer } = await planned(intent, { onWarning: sentence => warnings.push(sentence) });
  expect(answer.result).toMatchObject({ kernel_result_kind: kind, model_mode: 'none' });
  expect(answer.internal.model_io_path).toBeUndefined();
  expect(warnings).toEqual([expect.stringMatching(/^The planner did not run: /)]);
  expect([existsSync(recording), runsIn(cwd)]).toEqual([false, []]);
});

test.each<[string, object, string]>([
  ['is prose', goalFor('Sure! Here it is: {}'), "RUN_E007: The model's answer is not a single JSON object."],
  [
    'proposes more than a plan may contain',
    goalFor({ ...PLAN, network: true }),
    'RUN_E003: The proposal has a key that must not be proposed.',
  ],
])('an answer that %s is a fault, with evidence of the planner and without a recording', async (_, intent, told) => {
  expect(await refused(intent)).toMatchObject({ told, isRecorded: false, runs: [expect.any(String)] });
});

test('a planner that does not complete is a fault that states its ending', async () => {
  const { told, isRecorded, runs } = await refused({ goal: 'DO=api_error:500 now' });
  expect(told).toBe(
    `RUN_E007: The planner claude did not complete: error (api_error). Run proctor show ${runs[0]} for details.`,
  );
  expect(isRecorded).toBe(false);
});

test('does not start a planner that is missing, or whose answer cannot be stored', async () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'plan.json'), 'mine');
  expect(await planned(goalFor(PLAN), { cwd }).catch(toldOf)).toBe(
    'RUN_E007: The recording file already exists, and Proctor does not overwrite it. Specify another file.',
  );
  expect(readFileSync(path.join(cwd, 'plan.json'), 'utf8')).toBe('mine');
  const nowhere = path.join(cwd, 'nowhere', 'plan.json');
  expect((await refused(goalFor(PLAN), { recording: nowhere })).told).toMatch(
    /^RUN_E007: The folder .* does not exist/,
  );
  const { told, runs } = await refused(goalFor(PLAN), { environment: { ...environment, PATH: '/nowhere' } });
  expect(told).toMatch(/^RUN_E007: claude is not on the PATH/);
  expect(runs).toEqual([]);
  expect((await refused(goalFor(PLAN), { environment: { PATH: bin } })).told).toBe(
    'RUN_E007: None of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN is set, so claude cannot reach a model.',
  );
});

test.each<[string, Partial<RunIntentOptions>, string]>([
  ['without a model mode', { modelMode: 'none', recording: undefined as never }, 'RUN_E007: A planner requires'],
  ['that is unknown', { planner: 'gpt' as never }, 'RUN_E007: planner must be claude or codex.'],
  ['that is left out', { planner: undefined as never }, 'RUN_E007: The model mode record requires a planner'],
  ['under the profile strict', { policy: 'strict' }, 'RUN_E004: The profile strict allows no model'],
  ['without a recording', { recording: undefined as never }, 'RUN_E004: The model mode record requires a recording'],
])('a planner %s is an error', async (_, options, told) => {
  expect((await refused({ goal: 'g' }, options)).told).toContain(told);
});

test('on the command line, stdout has only the result, and stderr shows the planner', () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'goal.json'), JSON.stringify({ goal: `${goalFor(PLAN).goal} DO=tested too` }));
  const record = ['--policy', 'dev', '--planner', 'claude', '--model-mode', 'record', '--recording', 'plan.json'];
  const { code, stdout, stderr } = proctor(['run', 'intent', 'goal.json', ...record], { cwd, env: environment });
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ kernel_result_kind: 'BUNDLE', model_mode: 'record' });
  expect(stderr).toMatch(
    /Bash npm test[^]*planned {3}by claude 2\.1\.325, claude-opus-5-5: \.proctor\/runs\/agent\/agent_/,
  );
  const { code: failed, stdout: error } = proctor(['run', 'intent', 'goal.json', ...record], { cwd, env: environment });
  expect(failed).toBe(2);
  expect(JSON.parse(error)).toMatchObject({ code: 'RUN_E007', details: { reason: 'recording_unusable' } });
});

import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash, contentHash } from '../../src/base/hash.ts';
import {
  type Bundle,
  bundle,
  bundleIdOf,
  intent,
  intentOutcome,
  modelIo,
  intentPlan,
  sandboxIdOf,
} from '../../src/contracts/intent/index.ts';
import type { Intent, IntentOutcome } from '../../src/contracts/intent/index.ts';
import { builtInProfiles } from '../../src/contracts/profile/index.ts';
import type { RunResult } from '../../src/contracts/run-result/index.ts';
import { runner } from '../../src/contracts/runner/index.ts';
import type { Runner } from '../../src/contracts/runner/shape.ts';
import { sealEnvelope, sealStatement } from '../../src/contracts/seal/index.ts';
import { intentDocuments } from '../../src/evidence/intent/intent-documents.ts';
import type { IntentPlan } from '../../src/evidence/intent/intent-run.ts';
import { brokenIn, type Files, folderWith } from './folders.ts';

const ID = 'intent_20260403_101500_4f1c9a7be210';
const { strict } = builtInProfiles;
const INTENT = canonicalize(intent.example);
const none = { bytesTotal: 0, bytesKept: 0, masked: 0, sha256: bytesHash('') } as const;

const planned = named({
  ...(bundle.example as Bundle),
  intent_sha256: bytesHash(INTENT),
  ...intentPlan(intent.example as Intent, strict),
});

function named(content: Bundle): Bundle {
  return { ...content, bundle_id: bundleIdOf(content) };
}

/** The files of an accepted run. */
function documents(): Files {
  const { timing: _, exit: __, ...record } = runner.example as Runner;
  const { enforcement, limits, observed } = intentOutcome.example as IntentOutcome;
  const plan: IntentPlan = {
    request: {
      schema_version: 'intent-request.v1',
      run_id: ID,
      kind: 'intent',
      intent: { name: 'build-config.json', sha256: bytesHash(INTENT), bytes: INTENT.length },
      answers: null,
      recording: null,
      mode: 'execute-sandbox',
      policy: 'strict',
      model_mode: 'none',
    },
    policy: strict,
    intentSha256: bytesHash(INTENT),
    decided: { kind: 'BUNDLE', questions: [] },
    going: {
      runner: {
        ...record,
        limits: planned.limits,
        write_roots: planned.write_roots,
        commands: { allowlist: ['node', 'npm'], blocklist: [], shell: 'none' },
      },
      enforcement,
      limits,
      observed,
    },
    correlationId: 'abcdefabcdef',
    startedAtMs: Date.UTC(2026, 3, 3, 10, 15),
    owner: { pid: 1, startTicks: 1, bootId: 'x' },
  };
  const capture = {
    ending: { how: 'exited', code: 0 },
    command: 0,
    phases: [{ name: 'execute', startedAtMs: plan.startedAtMs, durationMs: 5 }],
    stdout: none,
    stderr: none,
  } as const;
  const reading = {
    exitCode: 0,
    outputs: [{ path: 'out/c.json', bytes: 2, sha256: bytesHash('{}') }],
    refused: null,
    missing: [],
    checks: [
      { check: 'exit_code' as const, path: null, held: true, message: null },
      { check: 'json_schema' as const, path: 'out/c.json', held: true, message: null },
    ],
    reasons: ['It went well.'],
    remarks: [],
  };
  const written = intentDocuments(
    { plan, ran: { capture, reading }, completedAtMs: plan.startedAtMs + 9 },
    { intent: INTENT, bundle: planned, recording: null },
    { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) },
  );
  return { ...Object.fromEntries(written.map(([file, bytes]) => [file, String(bytes)])), 'output/out/c.json': '{}' };
}

type Change = (document: never) => object;

/** Changes some documents, corrects all references to them, and seals the folder again. */
function forged(
  changes: Readonly<Record<string, Change>> = {},
  others: Readonly<Record<string, string | null>> = {},
): Files {
  const files = { ...documents(), ...others };
  for (const [file, text] of Object.entries(others)) if (text === null) delete files[file];
  for (const [file, change] of Object.entries(changes)) {
    files[file] = canonicalize(change(JSON.parse(files[file] as string) as never));
  }
  const manifest = JSON.parse(files['evidence/steps/intent/manifest.json'] as string) as {
    artifacts: { path: string; sha256: string; size_bytes: number }[];
  };
  for (const artifact of manifest.artifacts) {
    artifact.sha256 = bytesHash(files[artifact.path] as string);
    artifact.size_bytes = Buffer.byteLength(files[artifact.path] as string);
  }
  files['evidence/steps/intent/manifest.json'] = canonicalize(manifest);
  const sealed = Object.entries(files).map(([path, text]) => ({
    path,
    sha256: bytesHash(text as string),
    bytes: Buffer.byteLength(text as string),
  }));
  const statement = sealStatement({ runId: ID, kind: 'intent', sealedAt: '2026-04-03T10:15:01.000Z', files: sealed });
  return { ...files, 'evidence/seal.json': sealEnvelope(statement) };
}

/** Replaces the bundle and everything derived from it, as a forger would. */
const rebundled = (content: Bundle, execution: object = {}) => ({
  'bundle.json': () => content,
  'run.json': (run: RunResult) => ({
    ...run,
    intent: { ...run.intent, sha256: content.intent_sha256 },
    bundle: { bundle_id: content.bundle_id, sha256: contentHash(content) },
    execution: { ...run.execution, sandbox_id: sandboxIdOf(content.bundle_id, strict), ...execution },
  }),
});

/** Replaces the intent and the bundle that follows from it. */
const reintended = (changes: Partial<Intent>) => {
  const text = canonicalize({ ...(intent.example as Intent), ...changes });
  const plan = intentPlan(JSON.parse(text) as Intent, strict);
  return {
    ...rebundled(named({ ...planned, ...plan, intent_sha256: bytesHash(text) })),
    'intent.json': () => JSON.parse(text) as object,
  };
};

test('the folder of an accepted intent violates no rule', async () => {
  expect(await brokenIn(folderWith(forged()))).toEqual([]);
});

describe('the verifier detects a forged intent folder', () => {
  const breaches: [string, Readonly<Record<string, Change>>, string[]][] = [
    [
      'a different profile than requested',
      { 'evidence/request.json': (request: object) => ({ ...request, policy: 'default' }) },
      ['policy.name'],
    ],
    [
      'a different file than requested',
      { 'run.json': (run: object) => ({ ...run, intent: { path: 'other.json', sha256: bytesHash(INTENT) } }) },
      ['intent.path'],
    ],
    [
      'an execution that was not requested',
      { 'evidence/request.json': (request: object) => ({ ...request, mode: 'plan-only' }) },
      ['execution'],
    ],
    [
      'a result that contradicts its outcome',
      {
        'evidence/outcome.json': (outcome: { checks: object[] }) => ({
          ...outcome,
          checks: outcome.checks.map(check => ({ ...check, held: false, message: 'It does not hold.' })),
        }),
      },
      ['execution.exit_code'],
    ],
    [
      'other checks',
      {
        'evidence/outcome.json': (outcome: { checks: object[] }) => ({
          ...outcome,
          checks: outcome.checks.map(check => ({ ...check, path: 'out/d.json' })),
        }),
      },
      ['execution'],
    ],
    [
      'a wrong sum of output sizes',
      {
        'run.json': (run: { execution: object }) => ({
          ...run,
          execution: { ...run.execution, total_output_bytes: 7 },
        }),
      },
      ['execution.total_output_bytes'],
    ],
    ['missing checks', { 'evidence/outcome.json': (outcome: object) => ({ ...outcome, checks: [] }) }, ['execution']],
    [
      'an ending that differs from the runner record',
      {
        'evidence/outcome.json': (outcome: object) => ({ ...outcome, ending: { how: 'exited', code: 9 } }),
      },
      ['execution.exit_code', 'execution.exit_code'],
    ],
    [
      'another command',
      { 'run.json': (run: { execution: object }) => ({ ...run, execution: { ...run.execution, cmd: ['node'] } }) },
      ['execution.cmd'],
    ],
    [
      'another stream',
      {
        'run.json': (run: { execution: object }) => ({
          ...run,
          execution: { ...run.execution, stdout_sha256: bytesHash('x') },
        }),
      },
      ['execution.stdout_sha256'],
    ],
    [
      'a bundle of another intent',
      { 'bundle.json': () => named({ ...planned, intent_sha256: bytesHash('x') }) },
      ['bundle.bundle_id', 'execution.sandbox_id', 'intent.sha256'],
    ],
    [
      'a bundle that exceeds its policy',
      rebundled(named({ ...planned, limits: { ...planned.limits, timeout_ms: 40_000 } })),
      ['bundle', 'bundle', 'policy.timeout_ms'],
    ],
    ['a bundle with other write roots', rebundled(named({ ...planned, write_roots: ['.'] })), ['bundle', 'bundle']],
    [
      'a bundle with different commands than the intent',
      rebundled(named({ ...planned, commands: [{ argv: ['node', 'else.mjs'] }] }), { cmd: ['node', 'else.mjs'] }),
      ['bundle'],
    ],
    [
      'a bundle with different files than the intent',
      rebundled(named({ ...planned, files: planned.files.map(file => ({ ...file, sha256: bytesHash('x') })) })),
      ['bundle'],
    ],
    [
      'a bundle with fewer checks than the intent',
      {
        ...rebundled(named({ ...planned, accept: [] })),
        'evidence/outcome.json': (outcome: object) => ({ ...outcome, checks: [] }),
      },
      ['bundle'],
    ],
    [
      'a command that the policy forbids',
      reintended({ commands: [{ argv: ['curl', 'build.mjs'] }] }),
      ['execution.cmd', 'policy.allowed_commands'],
    ],
    [
      "an output outside the policy's write roots",
      reintended({ outputs: ['etc/c.json', 'out/c.json'] }),
      ['execution.outputs', 'policy.allowed_write_roots'],
    ],
    [
      'network access that the policy denies and the runner did not have',
      reintended({ network: true }),
      ['bundle', 'policy.allow_network'],
    ],
    [
      'network access that was not requested',
      {
        'evidence/runner.json': (record: { sandbox: object }) => ({
          ...record,
          sandbox: { ...record.sandbox, network_blocked: false },
        }),
      },
      ['bundle'],
    ],
    [
      'another sandbox id',
      {
        'run.json': (run: { execution: object }) => ({
          ...run,
          execution: { ...run.execution, sandbox_id: 'sandbox_0123456789abcdef' },
        }),
      },
      ['execution.sandbox_id'],
    ],
    [
      'a runner that allowed more',
      {
        'evidence/runner.json': (record: { commands: object }) => ({
          ...record,
          commands: { ...record.commands, allowlist: ['node', 'npm', 'sh'] },
        }),
      },
      ['policy.allowed_commands'],
    ],
  ];
  test.each(breaches)('with %s', async (_, changes, at) => {
    const broken = await brokenIn(folderWith(forged(changes)));
    expect(broken.filter(place => place.startsWith('FD11'))).toEqual(at.map(place => `FD11 run.json#${place}`));
  });

  test('with another intent, by its hash', async () => {
    const broken = await brokenIn(folderWith(forged({ 'intent.json': (text: object) => ({ ...text, goal: 'Else' }) })));
    expect(broken).toContain('FD3 run.json#intent.sha256');
  });

  test('with a file that the execution did not create', async () => {
    const forgery = forged({}, { 'output/out/more.json': '{}' });
    expect(await brokenIn(folderWith(forgery))).toEqual(['FD11 output/out/more.json']);
  });

  test('with a refusal of a run that was executed', async () => {
    const refusal = (run: { decision: object }) => ({
      ...run,
      kernel_result_kind: 'REFUSE',
      refuse_reason: 'It is forbidden.',
      execution: null,
      bundle: null,
      decision: { ...run.decision, accepted: false },
    });
    const gone = { 'bundle.json': null, 'output/out/c.json': null };
    expect(await brokenIn(folderWith(forged({ 'run.json': refusal }, gone)))).toEqual(['FD11 run.json#execution']);
  });

  test('without an output that is not reported as missing', async () => {
    const nothing = (run: { execution: object }) => ({
      ...run,
      execution: { ...run.execution, outputs: [], total_output_bytes: 0 },
    });
    const forgery = forged({ 'run.json': nothing }, { 'output/out/c.json': null });
    expect(await brokenIn(folderWith(forgery))).toEqual(['FD11 run.json#execution.outputs']);
  });

  test('with a recording that was not named, or with another one', async () => {
    const recording = canonicalize(modelIo.example);
    const given = (text: string) => ({
      'evidence/request.json': (request: object) => ({
        ...request,
        recording: { name: 'plan.json', sha256: bytesHash(text), bytes: text.length },
      }),
    });
    const beside = { 'model_io.json': recording };
    expect(await brokenIn(folderWith(forged(given(recording), beside)))).toEqual([]);
    for (const forgery of [forged({}, beside), forged(given('x'), beside), forged(given(recording))])
      expect(await brokenIn(folderWith(forgery))).toEqual(['FD11 model_io.json']);
  });

  test('with a changed stream', async () => {
    const file = 'evidence/steps/intent/stdout.txt';
    expect(await brokenIn(folderWith(forged({}, { [file]: 'All went well.' })))).toEqual([`FD11 ${file}`]);
  });

  test.each(['evidence/request.json', 'intent.json'])('without its %s', async name => {
    const changes = { 'evidence/outcome.json': (outcome: object) => ({ ...outcome, checks: [] }) };
    const broken = await brokenIn(folderWith(forged(changes, { [name]: null })));
    expect(broken).toContain('FD9 evidence/seal.json');
  });

  test('without its seal', async () => {
    const { 'evidence/seal.json': _, ...rest } = forged();
    expect(await brokenIn(folderWith(rest))).toEqual(['SL5 evidence/seal.json']);
  });
});

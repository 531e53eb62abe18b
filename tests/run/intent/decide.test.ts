import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { Fault } from '../../../src/base/fault.ts';
import { bytesHash, contentHash } from '../../../src/base/hash.ts';
import { check } from '../../../src/contracts/check.ts';
import { bundle as bundleContract, intent as contract, type Intent } from '../../../src/contracts/intent/index.ts';
import { builtInProfiles } from '../../../src/contracts/profile/index.ts';
import { runResult } from '../../../src/contracts/run-result/index.ts';
import { intentRequest, type IntentRequest } from '../../../src/contracts/intent/index.ts';
import { runResultOf } from '../../../src/evidence/intent/intent-documents.ts';
import type { IntentDecision } from '../../../src/run/intent/decide.ts';
import { decideIntent } from '../../../src/run/intent/decide.ts';
import { decided, fault, node, own, questionsIn, refusalsIn, STRICT } from './world.ts';

const DEV = builtInProfiles.dev;
const refused = (intent: object, profile = STRICT): readonly string[] =>
  refusalsIn(decided({ goal: 'g', ...intent }, { profile }));

describe('refuses what a profile forbids', () => {
  test.each<[string, object, string]>([
    [
      'a command that is not allowed',
      { commands: [{ argv: ['npx', 'x'] }] },
      'PL6: commands[0].argv[0] runs "npx", which the profile strict does not allow. It allows node, npm.',
    ],
    [
      'a shell',
      { commands: [{ shell: 'node x' }] },
      'PL6: commands[0].shell runs "sh", which the profile strict does not allow. It allows node, npm.',
    ],
    [
      'a command given as a path',
      { commands: [{ argv: ['./node'] }] },
      'PL6: commands[0].argv[0] is a path; a command is the bare name of a program, and which one that is, the sandbox decides.',
    ],
    [
      'an invalid command name',
      { commands: [{ argv: ['no de'] }] },
      'PL6: commands[0].argv[0] is not the name of a program.',
    ],
    [
      'more time than allowed',
      { limits: { timeout_ms: 30_001 } },
      'PL6: limits.timeout_ms is 30001, the profile strict allows 30000.',
    ],
    [
      'more files than allowed',
      { limits: { max_output_files: 201 } },
      'PL6: limits.max_output_files is 201, the profile strict allows 200.',
    ],
    [
      'more bytes than allowed',
      { limits: { max_total_output_bytes: 10_485_761 } },
      'PL6: limits.max_total_output_bytes is 10485761, the profile strict allows 10485760.',
    ],
    ['the network', { network: true }, 'PL6: network is asked for, and the profile strict denies it.'],
    [
      'more outputs than allowed',
      { outputs: Array.from({ length: 201 }, (_, at) => `out/${at}`) },
      'PL6: outputs are 201, the profile strict allows 200.',
    ],
    [
      'files that are larger than allowed',
      { files: [{ path: 'a', content: 'x'.repeat(10_485_761) }] },
      'PL6: files have 10485761 bytes, the profile strict allows 10485760.',
    ],
    [
      'more files below the roots than allowed',
      {
        limits: { max_output_files: 2 },
        files: ['out/a', 'dist/b', 'build/c', 'd'].map(path => ({ path, content: '' })),
      },
      'PL6: files below the write roots are 3, and there may be 2, like those that are made there.',
    ],
    [
      'more top-level names than the sandbox can mount',
      { files: Array.from({ length: 1_001 }, (_, at) => ({ path: `f${at}`, content: '' })) },
      'PL6: files have 1001 names in the work folder itself, the sandbox can show 1000; a folder counts once.',
    ],
    [
      'an output outside the roots',
      { outputs: ['src/a'] },
      'PL6: outputs[0] lies outside the write roots of the profile strict: out, dist, build.',
    ],
    [
      'a root as an output',
      { outputs: ['out'] },
      'PL6: outputs[0] is a write root of the profile strict; a folder of outputs ends with a slash.',
    ],
    [
      'a file in place of a root',
      { files: [{ path: 'out', content: '' }] },
      'PL6: files[0].path stands where the profile strict has a folder to write to.',
    ],
    [
      'a check of a path with ..',
      { accept: [{ check: 'file_exists', path: '../a' }] },
      'PL6: accept[0].path contains "..".',
    ],
    [
      'a path with .. in makes',
      { commands: [{ argv: ['node'], makes: ['../a'] }] },
      'PL6: commands[0].makes[0] contains "..".',
    ],
  ])('%s', (_, intent, sentence) => {
    expect(refused(intent)).toEqual([sentence]);
  });

  test.each([
    ['out/../x', 'contains ".."'],
    ['/x', 'is absolute'],
    ['~/x', 'starts with a home folder'],
    ['C:/x', 'starts with a drive'],
    ['a//b', 'contains an empty segment'],
    ['./x', 'holds the segment "."'],
    ['a/./b', 'holds the segment "."'],
    ['a\\..\\b', 'contains ".."'],
    ['a\\b', 'contains a backslash'],
    ['a\nb', 'contains a control character'],
    ['a\u202eb', 'contains an invisible or bidirectional control character'],
    ['a\ufffdb', 'contains the replacement character U+FFFD'],
    ['.', 'holds the segment "."'],
    [`${'a/'.repeat(299)}a`, 'is nested deeper than 16 levels'],
    ['x'.repeat(256), 'contains a name longer than 255 bytes'],
    ['aux.txt', 'contains a name that Windows reserves for a device'],
    ['a ', 'contains a name that starts or ends with a space, or ends with a dot'],
  ])('the path %j, anywhere in the intent', (path, trouble) => {
    expect(refused({ files: [{ path, content: '' }] }, DEV)).toEqual([`PL6: files[0].path ${trouble}.`]);
    expect(refused({ outputs: [path] }, DEV)).toEqual([`PL6: outputs[0] ${trouble}.`]);
    expect(refused({ accept: [{ check: 'file_exists', path }] }, DEV)).toEqual([`PL6: accept[0].path ${trouble}.`]);
  });

  test('but allows every path if the whole work folder is a write root', () => {
    expect(refused({ outputs: ['a/b', 'c'] }, own({ allowed_write_roots: ['.'] }))).toEqual([]);
    expect(refused({ outputs: ['a/b', 'c'] }, DEV)).toEqual([]);
  });

  test('in sentences without secrets or control characters', () => {
    const names = ['AKIAIOSFODNN7EXAMPLE', 'sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'];
    for (const name of names) expect(refused({ commands: [{ argv: [name] }] }).join()).not.toContain(name);
    expect(refused({ commands: [{ argv: ['\u001b[31mx'] }] }).join()).not.toContain('\u001b');
  });

  test('and lists at most twenty refusals, and counts the rest', () => {
    const all = refused({ commands: Array.from({ length: 100 }, () => ({ argv: ['sh'] })) });
    expect(all.length).toBe(21);
    expect(all[20]).toBe('There are 80 more.');
  });

  test('but asks about placeholders first, and refuses once they are filled', () => {
    const intent = {
      goal: 'g',
      commands: [{ argv: ['<tool>'] }],
      outputs: ['TBD'],
      files: [{ path: '<file>', content: '' }],
    };
    expect(questionsIn(decided(intent))).toEqual(['file', 'tool', 'outputs[0]']);
    const answers = { file: '../a', tool: 'sh', 'outputs[0]': 'x' };
    expect(refusalsIn(decided(intent, { answers })).length).toBe(3);
  });
});

describe('a bundle', () => {
  const INTENT = {
    goal: 'g',
    files: [
      { path: 'b', content: 'x' },
      { path: 'a', content: '' },
    ],
    commands: [node('0'), { argv: ['npm', 'x'] }],
    outputs: ['out/z', 'out/a'],
    accept: [{ check: 'file_exists', path: 'out/a' }],
  };
  const idOf = (intent: object, profile = STRICT): string => {
    const decision = decided(intent, { profile });
    return decision.kind === 'BUNDLE' ? decision.bundle.bundle_id : decision.kind;
  };

  test('states the exact plan, in a fixed order', () => {
    expect(decided(INTENT)).toMatchObject({
      kind: 'BUNDLE',
      bundle: {
        status: 'complete',
        files: [
          { path: 'a', sha256: bytesHash(''), size_bytes: 0 },
          { path: 'b', sha256: bytesHash('x'), size_bytes: 1 },
        ],
        outputs: ['out/a', 'out/z'],
        limits: { timeout_ms: 30_000, max_output_files: 200, max_total_output_bytes: 10_485_760 },
        network: false,
        write_roots: ['build', 'dist', 'out'],
        questions: [],
      },
    });
  });

  test('has the same id for the same input, and a different id for any other', () => {
    const others = [
      INTENT,
      { ...INTENT, goal: 'G' },
      { ...INTENT, constraints: [] },
      { ...INTENT, context: { a: 1 } },
      {
        ...INTENT,
        files: [
          { path: 'b', content: 'y' },
          { path: 'a', content: '' },
        ],
      },
      {
        ...INTENT,
        files: [
          { path: 'c', content: 'x' },
          { path: 'a', content: '' },
        ],
      },
      { ...INTENT, commands: INTENT.commands.toReversed() },
      { ...INTENT, outputs: ['out/a'] },
      { ...INTENT, accept: [] },
      { ...INTENT, limits: { timeout_ms: 30_000 } },
      { ...INTENT, network: false },
    ];
    const ids = others.map(intent => idOf(intent));
    expect(new Set(ids).size).toBe(others.length);
    expect(others.map(intent => idOf(structuredClone(intent)))).toEqual(ids);
    expect(idOf(INTENT, DEV)).not.toBe(idOf(INTENT));
    for (const id of ids) expect(id).toMatch(/^bundle_[a-f0-9]{16}$/);
  });
});

const profiles = [...Object.values(builtInProfiles), own({ allow_network: true, allowed_write_roots: ['.'] })];
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '<x>',
    'TBD',
    'out/a',
    'out/',
    '../a',
    '/home/a/b',
    'node',
    'sh',
    'within 2 seconds',
    'must a',
    'must not a',
    'offline',
    'at most 1 file',
  ),
);
const filled = text.filter(word => word !== '');
const list = <Value>(of: fc.Arbitrary<Value>) => fc.array(of, { maxLength: 3 });
const maybe = { requiredKeys: [] as [] };
const anyIntent: fc.Arbitrary<object> = fc.record({ goal: filled }, { requiredKeys: ['goal'] }).chain(goal =>
  fc
    .record(
      {
        constraints: list(text),
        context: fc.dictionary(text, fc.jsonValue({ maxDepth: 3 })),
        files: list(fc.record({ path: fc.oneof(fc.constantFrom('a', 'out/b'), filled), content: text })),
        commands: list(
          fc.oneof(
            fc.constant({ argv: ['node', 'build.mjs'] }),
            fc.record({ argv: fc.array(text, { minLength: 1, maxLength: 4 }) }),
            fc.record({ shell: filled, makes: list(filled) }),
          ),
        ),
        outputs: list(filled),
        accept: list(
          fc.oneof(
            fc.record({ check: fc.constant('exit_code'), equals: fc.integer({ min: 0, max: 255 }) }),
            fc.record({ check: fc.constantFrom('file_exists'), path: filled }),
            fc.record({ check: fc.constant('content_matches'), path: filled, pattern: filled }),
          ),
        ),
        limits: fc.record(
          {
            timeout_ms: fc.integer({ min: 1_000, max: 600_000 }),
            max_output_files: fc.integer({ min: 1, max: 10_000 }),
          },
          maybe,
        ),
        network: fc.boolean(),
      },
      maybe,
    )
    .map(rest => Object.assign(rest, goal)),
);
const anyAnswers = fc.dictionary(
  fc.constantFrom(
    'x',
    'goal',
    'commands',
    'constraints[0]',
    'constraints[1] or constraints[0]',
    'outputs[0]',
    'outputs[0].command',
    'accept[0]',
    '__proto__',
  ),
  fc.oneof(
    text,
    fc.boolean(),
    fc.constant(0),
    list(text),
    fc.record({ commands: list(fc.record({ argv: list(text) })) }),
  ),
  { maxKeys: 3 },
);

describe('any valid intent', () => {
  const asked = fc.record({
    intent: anyIntent,
    answers: fc.oneof(fc.constant({}), anyAnswers),
    mode: fc.constantFrom('plan-only' as const, 'execute-sandbox' as const),
    profile: fc.constantFrom(...profiles),
  });

  test('is decided or gives a fault, deterministically and without changing its input', () => {
    const kinds = new Map<string, number>();
    fc.assert(
      fc.property(asked, given => {
        if (check(contract, given.intent, { strict: true, internal: false }).violations.length > 0) return;
        const before = canonicalize(given);
        const first = outcome(given as never);
        expect(outcome(given as never)).toEqual(first);
        expect(canonicalize(given)).toBe(before);
        const kind = typeof first === 'string' ? 'fault' : first.kind;
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        if (typeof first === 'string') return;
        expect(first.sha256).toBe(bytesHash(canonicalize(first.intent)));
        expectContracts(first, given.profile, given.mode);
      }),
      { numRuns: 1_500, seed: 20_261_117 },
    );
    // Otherwise the property would not have covered every kind of decision.
    expect([...kinds.keys()].sort()).toEqual(['BUNDLE', 'CLARIFY', 'REFUSE', 'fault']);
  });
});

function outcome(given: Parameters<typeof decideIntent>[0]): IntentDecision | string {
  try {
    return decideIntent(given);
  } catch (error) {
    if (error instanceof Fault) return fault(() => decideIntent(given));
    throw error;
  }
}

/** The documents of a decision satisfy every rule in strict mode. */
function expectContracts(
  decision: IntentDecision,
  policy: (typeof profiles)[number],
  mode: IntentRequest['mode'],
): void {
  const strict = { strict: true, internal: false, profileBeside: policy } as const;
  const bundle = decision.kind === 'REFUSE' ? null : decision.bundle;
  if (bundle) expect(check(bundleContract, bundle, strict).violations).toEqual([]);
  const request = { ...structuredClone(intentRequest.example as IntentRequest), mode, policy: policy.name };
  const result = runResultOf(
    {
      plan: {
        request,
        policy,
        intentSha256: decision.sha256,
        decided:
          decision.kind === 'REFUSE'
            ? decision
            : { kind: decision.kind, questions: decision.kind === 'CLARIFY' ? decision.questions : [] },
        correlationId: '0123456789abcdef',
        startedAtMs: 0,
        owner: { pid: 1, startTicks: 1, bootId: 'boot' },
      },
      completedAtMs: 1,
    },
    { intent: decision.text, bundle, recording: null },
  );
  expect(check(runResult, result, strict).violations).toEqual([]);
  expect(result.decision.accepted).toBe(decision.kind === 'BUNDLE');
  expect(result.bundle?.sha256 ?? null).toBe(bundle && contentHash(bundle));
}

test('an intent whose canonical form exceeds its limit is a fault', () => {
  const context = { numbers: Array.from({ length: 1_600_000 }, () => 1e9) };
  expect(fault(() => decided({ goal: 'g', context } satisfies Intent))).toBe(
    'RUN_E003: The intent, in its canonical form, exceeds the limit of 16 MiB.',
  );
});

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { check } from '../../../src/contracts/check.ts';
import { builtInProfiles, type Profile } from '../../../src/contracts/profile/index.ts';
import { runError, type RunError } from '../../../src/contracts/run-error/index.ts';
import { runErrorOf } from '../../../src/verbs/run-error.ts';
import { runIntent, type RunIntentOptions } from '../../../src/verbs/run-intent.ts';
import { temporaryFolder } from '../../support/support.ts';
import { own, ran } from './world.ts';

/** The run error that replaces a result. It satisfies its contract. */
async function told(
  intent: unknown,
  { name = 'intent.json', ...options }: Partial<RunIntentOptions> & { readonly name?: string } = {},
): Promise<RunError> {
  const cwd = temporaryFolder();
  const file = path.join(cwd, name);
  writeFileSync(file, typeof intent === 'string' || intent instanceof Uint8Array ? intent : JSON.stringify(intent));
  const error: unknown = await runIntent({ intent: file, cwd, ...options }).catch((fault: unknown) => fault);
  const document = runErrorOf(error);
  expect(check(runError, document, { strict: true, internal: false }).violations).toEqual([]);
  expect(JSON.stringify(document)).not.toContain(cwd);
  expect(JSON.stringify(document)).not.toContain('/home/someone');
  return document;
}

describe('RUN_E002 reports an intent that is not a document:', () => {
  test.each<[string, string, string | Uint8Array, RegExp]>([
    ['nothing', 'a.json', '', /empty/],
    ['invalid JSON', 'a.json', '{"goal":', /JSON document/],
    ['two documents', 'a.json', '{"goal":"a"}{"goal":"b"}', /JSON document/],
    ['a duplicate key', 'a.json', '{"goal":"a","goal":"b"}', /twice|duplicate|already/i],
    ['a byte order mark', 'a.json', '\ufeff{"goal":"a"}', /mark/],
    ['bytes that are not UTF-8', 'a.json', Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/],
    ['half a surrogate pair', 'a.json', '{"goal":"\\ud800"}', /surrogate/],
    [
      'JSON that is nested too deeply',
      'a.json',
      `{"goal":"a","context":{"a":${'['.repeat(99)}${']'.repeat(99)}}}`,
      /deep/,
    ],
    ['invalid YAML', 'a.yaml', 'goal: a\nconstraints: [\n', /line [23]/],
    ['YAML with a duplicate key', 'a.yml', 'goal: a\ngoal: b\n', /line 2/],
    [
      'YAML with half a surrogate pair in a key',
      'a.yml',
      'goal: a\ncontext:\n  "\\uD800": 1\n',
      /line 3: A string contains half a surrogate pair/,
    ],
    ['empty YAML', 'a.yml', '# nothing\n', /empty/],
    [
      'YAML that expands beyond memory',
      'a.yml',
      `goal: a\ncontext:\n  a0: &a0 [x, x]\n${Array.from({ length: 60 }, (_, at) => `  a${at + 1}: &a${at + 1} [*a${at}, *a${at}]\n`).join('')}`,
      /larger than 16 MiB as JSON, the limit for an intent/,
    ],
  ])('%s', async (_, name, content, words) => {
    expect(await told(content, { name })).toMatchObject({
      code: 'RUN_E002',
      message: expect.stringMatching(words) as never,
    });
  });
});

/** Schemas that recurse without consuming input. */
const ENDLESS: readonly object[] = [
  { $ref: '#' },
  { allOf: [{ $ref: '#' }] },
  { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/a' }] } } },
  { type: 'object', properties: { next: { $ref: '#/$defs/x' } }, $defs: { x: { $anchor: 'y', not: { $ref: '#y' } } } },
  { if: { type: 'object' }, then: { $dynamicRef: '#' } },
];

describe('RUN_E003 reports an intent that breaks a rule:', () => {
  test.each<[string, unknown, string]>([
    ['no goal', {}, 'IN2'],
    ['an empty goal', { goal: '' }, 'IN2'],
    ['a blank goal', { goal: ' \n' }, 'IN2'],
    ['a document that is not an object', [], 'IN1'],
    ['a misspelled key', { goal: 'g', comands: [] }, 'IN1'],
    ['a key that is a host path', { goal: 'g', '/home/someone/x': 1 }, 'IN1'],
    ['__proto__', '{"goal":"g","__proto__":{}}', 'IN1'],
    ['another version', { goal: 'g', schema_version: 'intent.v2' }, 'IN1'],
    ['constraints that are numbers', { goal: 'g', constraints: [1] }, 'IN2'],
    [
      'a duplicate file',
      {
        goal: 'g',
        files: [
          { path: 'a', content: '' },
          { path: 'a', content: '' },
        ],
      },
      'IN3',
    ],
    [
      'a file below another file',
      {
        goal: 'g',
        files: [
          { path: 'a', content: '' },
          { path: 'a/b', content: '' },
        ],
      },
      'IN3',
    ],
    ['a command given in two ways', { goal: 'g', commands: [{ argv: ['a'], shell: 'a' }] }, 'IN4'],
    ['a command without words', { goal: 'g', commands: [{ argv: [] }] }, 'IN4'],
    ['a NUL', { goal: 'g', commands: [{ argv: ['a\0'] }] }, 'IN4'],
    ['too many words', { goal: 'g', commands: [{ argv: Array.from({ length: 4_001 }, () => 'a') }] }, 'IN4'],
    [
      'words that are too long',
      { goal: 'g', commands: [{ argv: Array.from({ length: 12 }, () => 'a'.repeat(100_000)) }] },
      'IN4',
    ],
    ['a duplicate output', { goal: 'g', outputs: ['a', 'a'] }, 'IN5'],
    ['a check without its keys', { goal: 'g', accept: [{ check: 'sha256', path: 'a' }] }, 'IN6'],
    [
      'an invalid pattern',
      { goal: 'g', outputs: ['a'], accept: [{ check: 'content_matches', path: 'a', pattern: '(?<=a)b' }] },
      'IN6',
    ],
    [
      'a pattern that would exhaust memory',
      { goal: 'g', outputs: ['a'], accept: [{ check: 'content_matches', path: 'a', pattern: '((a{500}){500}){500}' }] },
      'IN6',
    ],
    [
      'an invalid schema',
      { goal: 'g', outputs: ['a'], accept: [{ check: 'json_schema', path: 'a', schema: { type: 'x' } }] },
      'IN6',
    ],
    [
      'a schema with an external reference',
      {
        goal: 'g',
        outputs: ['a'],
        accept: [{ check: 'json_schema', path: 'a', schema: { $ref: 'file:///etc/passwd' } }],
      },
      'IN6',
    ],
    [
      'a schema that takes minutes',
      {
        goal: 'g',
        outputs: ['a'],
        accept: [
          {
            check: 'json_schema',
            path: 'a',
            schema: { anyOf: Array.from({ length: 20_000 }, (_, at) => ({ required: [`k${at}`] })) },
          },
        ],
      },
      'IN6',
    ],
    ['a limit of zero', { goal: 'g', limits: { timeout_ms: 0 } }, 'IN7'],
    ['a fractional number of milliseconds', { goal: 'g', limits: { timeout_ms: 1_500.5 } }, 'IN7'],
    ['a fractional number of files', { goal: 'g', limits: { max_output_files: 2.5 } }, 'IN7'],
    ['a fractional number of bytes', { goal: 'g', limits: { max_total_output_bytes: 4_096.5 } }, 'IN7'],
    [
      'an argument that is too long for the kernel',
      { goal: 'g', commands: [{ argv: ['node', 'x'.repeat(200_000)] }] },
      'IN4',
    ],
    ['a shell line that is too long', { goal: 'g', commands: [{ shell: `: ${'ü'.repeat(70_000)}` }] }, 'IN4'],
    ['outputs that differ only in case', { goal: 'g', outputs: ['out/Report.md', 'out/report.md'] }, 'IN5'],
    ['outputs in folders that differ only in case', { goal: 'g', outputs: ['out/Docs/a.md', 'out/docs/b.md'] }, 'IN5'],
    ['outputs that differ only in Unicode composition', { goal: 'g', outputs: ['out/\u00e9', 'out/e\u0301'] }, 'IN5'],
    ...ENDLESS.map(
      (schema, at) =>
        [
          `a schema that refers to itself (${at})`,
          { goal: 'g', outputs: ['a'], accept: [{ check: 'json_schema', path: 'a', schema }] },
          'IN6',
        ] as [string, unknown, string],
    ),
  ])('%s', async (_, intent, rule) => {
    expect(await told(intent)).toMatchObject({ code: 'RUN_E003', rule_id: rule });
  });

  test('answers that are not an object, but not answers that cannot be read', async () => {
    const answers = path.join(temporaryFolder(), 'answers.json');
    expect((await told({ goal: 'g' }, { answers })).code).toBe('RUN_E001');
    writeFileSync(answers, '[]');
    expect((await told({ goal: 'g' }, { answers })).code).toBe('RUN_E003');
  });

  test('but accepts 100,000 constraints', async () => {
    const constraints = Array.from({ length: 100_000 }, (_, at) => `must keep thing ${at}, within 5 seconds`);
    const { result } = await ran(
      { goal: 'g', files: [{ path: 'a', content: '' }], constraints },
      { mode: 'plan-only' },
    );
    expect(result.decision.accepted).toBe(true);
  });
});

describe('RUN_E004 reports an invalid profile:', () => {
  test.each<[string, string | Profile]>([
    ['a file that does not exist', 'nowhere.json'],
    ['a folder', '.'],
    ['a device', '/dev/zero'],
    ['a limit out of range', own({ timeout_ms: 600_001 })],
    ['a fractional number of milliseconds', own({ timeout_ms: 1_500.5 })],
    ['a built-in name with other content', { ...builtInProfiles.strict, timeout_ms: 31_000 }],
    ['a root with ..', own({ allowed_write_roots: ['../x'] })],
    ['a command that is a path', own({ allowed_commands: ['/bin/sh'] })],
    ['a name that is a path', own({ name: '/home/someone' })],
    ['an unknown key', { ...own(), allow_all: true } as Profile],
  ])('%s', async (_, policy) => {
    expect((await told({ goal: 'g' }, { policy })).code).toBe('RUN_E004');
  });

  test('a file that is not JSON', async () => {
    const policy = path.join(temporaryFolder(), 'policy.json');
    writeFileSync(policy, '{');
    expect((await told({ goal: 'g' }, { policy })).code).toBe('RUN_E004');
  });
});

describe('RUN_E007 reports an invalid call:', () => {
  test.each<[string, object]>([
    ['a misspelled option', { modus: 'x' }],
    ['an unknown mode', { mode: 'plan' }],
    ['an unknown model mode', { modelMode: 'live', policy: 'dev' }],
    ['a recording without a mode for it', { recording: 'x.json' }],
  ])('%s', async (_, options) => {
    expect(await told({ goal: 'g' }, options)).toMatchObject({ code: 'RUN_E007', details: { reason: 'usage' } });
  });

  test('and also an internal error, without its details', () => {
    expect(runErrorOf(new TypeError('at /home/someone/secret.js'))).toEqual({
      code: 'RUN_E007',
      message: 'Proctor hit an internal error.',
    });
  });
});

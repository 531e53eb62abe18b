import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { limitShapes } from '../profile/shape.ts';
import { firstRepeated } from '../lists.ts';
import { must, mustWhenStrict, rulesFor } from '../rule.ts';
import { anyObject, filledText, record, wordyText } from '../shape.ts';
import { acceptCheck, CHECK_KEYS, type AcceptCheck, foldersAbove, LIMIT_NAMES } from './parts.ts';
import { firstCollision } from './collisions.ts';

const shape = record({
  schema_version: z.optional(z.literal('intent.v1')),
  goal: wordyText(),
  constraints: z.optional(z.array(z.string()).check(z.maxLength(1_000_000))),
  /** The author's notes. Proctor ignores them. */
  context: z.optional(anyObject()),
  files: z.optional(z.array(record({ path: filledText(), content: z.string() })).check(z.maxLength(10_000))),
  commands: z.optional(
    z
      .array(
        record({
          argv: z.optional(z.array(z.string()).check(z.minLength(1), z.maxLength(10_000))),
          /** A command line for `sh -c`. */
          shell: z.optional(filledText()),
          /** The outputs of this command; any output if absent. */
          makes: z.optional(z.array(filledText()).check(z.maxLength(10_000))),
        }),
      )
      .check(z.maxLength(1_000)),
  ),
  outputs: z.optional(z.array(filledText()).check(z.maxLength(10_000))),
  accept: z.optional(z.array(acceptCheck).check(z.maxLength(10_000))),
  limits: z.optional(
    record({
      timeout_ms: z.optional(limitShapes.timeout_ms),
      max_output_files: z.optional(limitShapes.max_output_files),
      max_total_output_bytes: z.optional(limitShapes.max_total_output_bytes),
    }),
  ),
  network: z.optional(z.boolean()),
});

export type Intent = z.infer<typeof shape>;

const rule = rulesFor<Intent>();

const rules = [
  rule({
    id: 'IN1',
    title: 'Intent Known',
    why: 'A misspelled key would be ignored without a warning.',
    asks: [
      'schema_version, if present, is "intent.v1"',
      'context, if present, is an object with any content',
      'should (must, when it runs): there are no unknown keys',
    ],
    fields: ['schema_version', 'context'],
    breach: intent => ({ ...intent, context: 'none' }),
  }),
  rule({
    id: 'IN2',
    title: 'Goal Stated',
    why: 'Readers of the evidence must be able to see the purpose of the run.',
    asks: ['goal is not blank', 'constraints, if present, is a list of at most 1,000,000 strings'],
    fields: ['goal', 'constraints'],
    breach: intent => ({ ...intent, goal: ' ' }),
  }),
  rule({
    id: 'IN3',
    title: 'Files Named Once',
    why: 'If two files had the same path, a command would find only one of them.',
    asks: [
      'files, if present, is a list of at most 10,000 entries, each with path and content',
      'no path appears twice, and none is inside another',
    ],
    fields: ['files'],
    *check({ files = [] }) {
      const paths = files.map(({ path }) => path);
      const repeated = firstRepeated(paths);
      if (repeated !== undefined) yield must(`files[${repeated}].path`, 'is a duplicate');
      const all = new Set(paths.map(path => `${path}/`));
      const below = paths.findIndex(path => foldersAbove(path).some(folder => all.has(folder)));
      if (below >= 0) yield must(`files[${below}].path`, 'is inside another file');
    },
    breach: intent => ({ ...intent, files: [...(intent.files ?? []), ...(intent.files ?? [])] }),
  }),
  rule({
    id: 'IN4',
    title: 'Commands Are Arguments',
    why: 'An argument list runs exactly as written. A shell interprets its command line, so an intent must request a shell explicitly.',
    asks: [
      'commands, if present, is a list of at most 1,000; each has either argv, a list of 1 to 4,000 arguments, or shell, a command line for sh',
      'makes, if present, is a list of outputs',
      'no argument contains a NUL, and the arguments of a command total at most 1 MiB',
      'should (must, when it runs): every argument and every command line for sh is shorter than 128 KiB',
    ],
    fields: ['commands'],
    *check({ commands = [] }, context) {
      for (const [index, { argv, shell }] of commands.entries()) {
        if ((argv === undefined) === (shell === undefined))
          yield must(`commands[${index}]`, 'must have either argv or shell');
        const words = [...(argv ?? []), shell ?? ''];
        // bubblewrap accepts 9,000 arguments including its own; the kernel about 2 MiB including the environment.
        if (words.length > WORDS_MAX) yield must(`commands[${index}].argv`, 'has more than 4,000 arguments');
        if (words.reduce((sum, word) => sum + Buffer.byteLength(word), 0) > MIB)
          yield must(`commands[${index}]`, 'has more than 1 MiB of arguments');
        const long = words.findIndex(word => Buffer.byteLength(word) >= WORD_BYTES);
        if (long >= 0)
          yield mustWhenStrict(
            context,
            argv?.[long] === undefined ? `commands[${index}].shell` : `commands[${index}].argv[${long}]`,
            'is too long: the kernel accepts less than 128 KiB per argument. Put the text into a file',
          );
        if (words.some(word => word.includes('\0')))
          yield must(`commands[${index}]`, 'contains a NUL, which cannot be passed to a program');
        if (argv?.[0] === '') yield must(`commands[${index}].argv[0]`, 'must name a program');
      }
    },
    breach: intent => ({ ...intent, commands: [{ argv: ['node'], shell: 'node' }] }),
  }),
  rule({
    id: 'IN5',
    title: 'Outputs Listed',
    why: 'Proctor keeps only listed outputs, so that two runs of an intent produce the same files.',
    asks: [
      'outputs, if present, is a list of at most 10,000 paths; a final slash means a folder and its contents',
      'no path appears twice',
      'should (must, when it runs): no two paths name the same file on any file system; on some, A.md and a.md do',
    ],
    fields: ['outputs'],
    *check({ outputs = [] }, context) {
      const repeated = firstRepeated(outputs);
      if (repeated !== undefined) yield must(`outputs[${repeated}]`, 'is a duplicate');
      const collision = firstCollision(outputs);
      if (collision)
        yield mustWhenStrict(
          context,
          `outputs[${collision.index}]`,
          `is the same path as outputs[${collision.earlier}] on file systems that ignore case or Unicode composition`,
        );
    },
    breach: intent => ({ ...intent, outputs: ['out/a', 'out/a'] }),
  }),
  rule({
    id: 'IN6',
    title: 'Checks Complete',
    why: 'A check without an expectation accepts everything.',
    asks: [
      'accept, if present, is a list of at most 10,000; check is exit_code, file_exists, content_matches, json_schema or sha256',
      'exit_code has equals, 0 to 255; the others have path; content_matches has pattern, json_schema has schema, sha256 has sha256; no check has keys of another check',
    ],
    fields: ['accept'],
    *check({ accept = [] }) {
      for (const [index, entry] of accept.entries()) {
        const wanted = CHECK_KEYS[entry.check];
        for (const key of wanted) {
          if (entry[key] === undefined) yield must(`accept[${index}].${key}`, `is missing in a ${entry.check} check`);
        }
        for (const key of ALL_KEYS) {
          if (entry[key] !== undefined && !wanted.includes(key))
            yield must(`accept[${index}].${key}`, `does not belong in a ${entry.check} check`);
        }
      }
    },
    breach: intent => ({ ...intent, accept: [{ check: 'file_exists' }] }),
  }),
  rule({
    id: 'IN7',
    title: 'Limits Within Bounds',
    why: 'No profile allows a limit outside its range, so such a limit is a mistake.',
    asks: [
      'limits, if present, may have timeout_ms (1,000 to 600,000), max_output_files (1 to 10,000) and max_total_output_bytes (1,024 to 1,073,741,824)',
      'network, if present, is true or false',
      'should (must, when it runs): the limits are integers',
    ],
    fields: ['limits', 'network'],
    *check({ limits = {} }, context) {
      for (const name of LIMIT_NAMES) {
        if (!Number.isInteger(limits[name] ?? 0)) yield mustWhenStrict(context, `limits.${name}`, 'must be an integer');
      }
    },
    breach: intent => ({ ...intent, limits: { timeout_ms: 5 } }),
  }),
];

const WORDS_MAX = 4_000;

/** The Linux limit for one argument including its final NUL: 32 pages of 4 KiB. */
const WORD_BYTES = 128 * 1024;

const ALL_KEYS = [...new Set(Object.values(CHECK_KEYS).flat())] satisfies (keyof AcceptCheck)[];

const example: Intent = {
  schema_version: 'intent.v1',
  goal: 'Build the configuration of the service',
  constraints: ['within 20 seconds'],
  context: { team: 'platform' },
  files: [{ path: 'build.mjs', content: "import fs from 'node:fs';\nfs.writeFileSync('out/c.json', '{}');\n" }],
  commands: [{ argv: ['node', 'build.mjs'] }],
  outputs: ['out/c.json'],
  accept: [
    { check: 'exit_code', equals: 0 },
    { check: 'json_schema', path: 'out/c.json', schema: { type: 'object' } },
  ],
  limits: { timeout_ms: 20_000 },
};

export const intent: Contract = {
  name: 'intent',
  title: 'Intent',
  tells: 'What to do and how to check it: a goal, files, commands, outputs and acceptance checks.',
  source: 'Proctor intents',
  version: { field: 'schema_version', value: 'intent.v1' },
  fileNames: ['intent.json'],
  shape,
  rules,
  unknownKeys: 'IN1',
  programText: ['goal', 'constraints', 'context', 'files', 'commands', 'outputs', 'accept'],
  beyond: ['whether a profile allows it, which Proctor decides when it runs'],
  bytesMax: 16 * MIB,
  example,
};

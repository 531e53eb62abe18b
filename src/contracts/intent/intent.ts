import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { firstRepeated } from '../lists.ts';
import { must, mustWhenStrict, rulesFor } from '../rule.ts';
import { anyObject, filledText, record, wordyText } from '../shape.ts';
import { acceptCheck, CHECK_KEYS, type AcceptCheck, foldersAbove, LIMIT_NAMES, limitShapes } from './parts.ts';
import { firstCollision } from './collisions.ts';

const shape = record({
  schema_version: z.optional(z.literal('intent.v1')),
  goal: wordyText(),
  constraints: z.optional(z.array(z.string()).check(z.maxLength(1_000_000))),
  /** Whatever else the author wants to keep with it. It decides nothing. */
  context: z.optional(anyObject()),
  files: z.optional(z.array(record({ path: filledText(), content: z.string() })).check(z.maxLength(10_000))),
  commands: z.optional(
    z
      .array(
        record({
          argv: z.optional(z.array(z.string()).check(z.minLength(1), z.maxLength(10_000))),
          /** For those who need a shell: a line for `sh -c`. */
          shell: z.optional(filledText()),
          /** The outputs that this command makes; without it, it may make any. */
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
    why: 'A key with a slip in it would be left undone, and nobody would hear of it.',
    asks: [
      'schema_version, if present, is "intent.v1"',
      'context, if present, is an object, in which anything may stand',
      'should (must, when it is run): no other key is unknown',
    ],
    fields: ['schema_version', 'context'],
    breach: intent => ({ ...intent, context: 'none' }),
  }),
  rule({
    id: 'IN2',
    title: 'Goal Stated',
    why: 'Whoever reads the evidence later must be able to say what it was for.',
    asks: ['goal is not blank', 'constraints, if present, is a list of strings, at most 1,000,000'],
    fields: ['goal', 'constraints'],
    breach: intent => ({ ...intent, goal: ' ' }),
  }),
  rule({
    id: 'IN3',
    title: 'Files Named Once',
    why: 'Of two files of one name, nobody could say which one a command finds.',
    asks: [
      'files, if present, is a list of path and content, at most 10,000',
      'no path stands twice, and none lies below another',
    ],
    fields: ['files'],
    *check({ files = [] }) {
      const paths = files.map(({ path }) => path);
      const repeated = firstRepeated(paths);
      if (repeated !== undefined) yield must(`files[${repeated}].path`, 'stands there twice');
      const all = new Set(paths.map(path => `${path}/`));
      const below = paths.findIndex(path => foldersAbove(path).some(folder => all.has(folder)));
      if (below >= 0) yield must(`files[${below}].path`, 'lies below another file');
    },
    breach: intent => ({ ...intent, files: [...(intent.files ?? []), ...(intent.files ?? [])] }),
  }),
  rule({
    id: 'IN4',
    title: 'Commands Are Arguments',
    why: 'What is handed over word by word is run as it stands; what a shell reads, the shell decides.',
    asks: [
      'commands, if present, is a list of at most 1,000; each has argv, a list of 1 to 4,000 words, or shell, a line for sh, and not both',
      'makes, if present, is a list of outputs',
      'no word holds a NUL, and the words of a command have at most 1 MiB together',
      'should (must, when it is run): no word, and no line for sh, has 128 KiB or more',
    ],
    fields: ['commands'],
    *check({ commands = [] }, context) {
      for (const [index, { argv, shell }] of commands.entries()) {
        if ((argv === undefined) === (shell === undefined))
          yield must(`commands[${index}]`, 'must have either argv or shell');
        const words = [...(argv ?? []), shell ?? ''];
        // bubblewrap takes 9,000 with those of the sandbox, the kernel about 2 MiB with the variables.
        if (words.length > WORDS_MAX) yield must(`commands[${index}].argv`, 'has more than 4,000 words');
        if (words.reduce((sum, word) => sum + Buffer.byteLength(word), 0) > MIB)
          yield must(`commands[${index}]`, 'has more than 1 MiB of words');
        const long = words.findIndex(word => Buffer.byteLength(word) >= WORD_BYTES);
        if (long >= 0)
          yield mustWhenStrict(
            context,
            argv?.[long] === undefined ? `commands[${index}].shell` : `commands[${index}].argv[${long}]`,
            'is an argument that is too long: the kernel takes less than 128 KiB for one. Put the text into a file',
          );
        if (words.some(word => word.includes('\0')))
          yield must(`commands[${index}]`, 'holds a NUL, which no program can be given');
        if (argv?.[0] === '') yield must(`commands[${index}].argv[0]`, 'must name a program');
      }
    },
    breach: intent => ({ ...intent, commands: [{ argv: ['node'], shell: 'node' }] }),
  }),
  rule({
    id: 'IN5',
    title: 'Outputs Listed',
    why: 'Only what was announced is taken, so that two runs of one intent leave the same.',
    asks: [
      'outputs, if present, is a list of paths, at most 10,000; a final slash means a folder with all that is in it',
      'none stands twice',
      'should (must, when it is run): no two have names that some file system takes for one, such as A.md and a.md',
    ],
    fields: ['outputs'],
    *check({ outputs = [] }, context) {
      const repeated = firstRepeated(outputs);
      if (repeated !== undefined) yield must(`outputs[${repeated}]`, 'stands there twice');
      const collision = firstCollision(outputs);
      if (collision)
        yield mustWhenStrict(
          context,
          `outputs[${collision.index}]`,
          `has the same name as outputs[${collision.earlier}] on a file system that ignores case or how letters are composed`,
        );
    },
    breach: intent => ({ ...intent, outputs: ['out/a', 'out/a'] }),
  }),
  rule({
    id: 'IN6',
    title: 'Checks Complete',
    why: 'A check that does not say what it expects accepts everything.',
    asks: [
      'accept, if present, is a list of at most 10,000; check is exit_code, file_exists, content_matches, json_schema or sha256',
      'exit_code has equals, 0 to 255; the others have path; content_matches has pattern, json_schema has schema, sha256 has sha256; no check has the keys of another',
    ],
    fields: ['accept'],
    *check({ accept = [] }) {
      for (const [index, entry] of accept.entries()) {
        const wanted = CHECK_KEYS[entry.check];
        for (const key of wanted) {
          if (entry[key] === undefined) yield must(`accept[${index}].${key}`, `is missing in a check ${entry.check}`);
        }
        for (const key of ALL_KEYS) {
          if (entry[key] !== undefined && !wanted.includes(key))
            yield must(`accept[${index}].${key}`, `does not belong to a check ${entry.check}`);
        }
      }
    },
    breach: intent => ({ ...intent, accept: [{ check: 'file_exists' }] }),
  }),
  rule({
    id: 'IN7',
    title: 'Limits Within Bounds',
    why: 'A wish that no profile could grant is a slip.',
    asks: [
      'limits, if present, may have timeout_ms (1,000 to 600,000), max_output_files (1 to 10,000) and max_total_output_bytes (1,024 to 1,073,741,824)',
      'network, if present, is true or false',
      'should (must, when it is run): the limits are whole numbers',
    ],
    fields: ['limits', 'network'],
    *check({ limits = {} }, context) {
      for (const name of LIMIT_NAMES) {
        if (!Number.isInteger(limits[name] ?? 0))
          yield mustWhenStrict(context, `limits.${name}`, 'must be a whole number');
      }
    },
    breach: intent => ({ ...intent, limits: { timeout_ms: 5 } }),
  }),
];

const WORDS_MAX = 4_000;

/** What Linux takes for one argument, the zero at its end included: 32 pages of 4 KiB. */
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
  tells: 'What somebody wants done, and what makes it so: files, commands, outputs, and how to tell that it worked.',
  source: 'Intents of Proctor',
  version: { field: 'schema_version', value: 'intent.v1' },
  fileNames: ['intent.json'],
  shape,
  rules,
  unknownKeys: 'IN1',
  programText: ['goal', 'constraints', 'context', 'files', 'commands', 'outputs', 'accept'],
  beyond: ['whether a profile allows it, which is decided when it is run'],
  bytesMax: 16 * MIB,
  example,
};

import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { limitShapes } from '../profile/shape.ts';
import { sortedAndUnique } from '../lists.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor, should } from '../rule.ts';
import { contentHashText, count, filledText, matching, record, wordyText } from '../shape.ts';
import { bundleIdOf } from './ids.ts';
import { acceptCheck } from './parts.ts';

const shape = record({
  schema_version: z.literal('bundle.v1'),
  bundle_id: matching(/^bundle_[a-f0-9]{16}$/, 'bundle_ followed by 16 hexadecimal digits'),
  /** The hash of the effective intent. */
  intent_sha256: contentHashText(),
  status: z.enum(['complete', 'incomplete']),
  /** Files to create before the first command. The intent has their contents. */
  files: z.array(record({ path: filledText(), sha256: contentHashText(), size_bytes: count() })),
  /** Run in order; the first failure ends the run. */
  commands: z.array(record({ argv: z.array(z.string()).check(z.minLength(1)) })),
  outputs: z.array(filledText()),
  accept: z.array(acceptCheck),
  limits: record(limitShapes),
  network: z.boolean(),
  write_roots: z.array(filledText()),
  /** The questions that must be answered before the bundle is complete. */
  questions: z.array(
    record({
      id: matching(/^q_[a-f0-9]{16}$/, 'q_ followed by 16 hexadecimal digits'),
      /** The key of the answer in an answers file. */
      key: filledText(),
      text: wordyText(),
    }),
  ),
});

export type Bundle = z.infer<typeof shape>;

const rule = rulesFor<Bundle>();

const rules = [
  rule({
    id: 'BU1',
    title: 'Bundle Version Known',
    why: 'The version tells a reader which rules apply to a bundle.',
    asks: ['schema_version is "bundle.v1"', NO_UNKNOWN_KEYS],
    fields: ['schema_version'],
    breach: bundle => named({ ...bundle, schema_version: 'bundle.v9' as never }),
  }),
  rule({
    id: 'BU2',
    title: 'Bundle Named By Content',
    why: 'If the id is a hash of the content, any change to a bundle changes its id.',
    asks: [
      'bundle_id is bundle_ followed by the first 16 digits of the content hash of all other keys',
      'intent_sha256 is sha256: followed by 64 lower-case hexadecimal digits',
    ],
    fields: ['bundle_id', 'intent_sha256'],
    *check(bundle) {
      if (bundle.bundle_id !== bundleIdOf(bundle)) yield must('bundle_id', 'does not match the content');
    },
    breach: bundle => ({ ...bundle, bundle_id: 'bundle_0000000000000000' }),
  }),
  rule({
    id: 'BU3',
    title: 'Plan Stated',
    why: 'A bundle states exactly what will run, in a fixed order, so that equal plans have equal bytes.',
    asks: [
      'files, commands, outputs, accept, limits, network and write_roots are present and well-formed',
      'files and outputs are sorted by path, by UTF-16 code unit',
    ],
    fields: ['files', 'commands', 'outputs', 'accept', 'limits', 'network', 'write_roots'],
    *check({ files, outputs }) {
      yield* sortedAndUnique(
        files.map(({ path }) => path),
        'files',
      );
      yield* sortedAndUnique(outputs, 'outputs');
    },
    breach: bundle => named({ ...bundle, outputs: bundle.outputs.toReversed() }),
  }),
  rule({
    id: 'BU4',
    title: 'Open Questions Mean Incomplete',
    why: 'A plan with an open question cannot be executed.',
    asks: [
      'status is complete if and only if questions is empty',
      'each question has id, key and text',
      'should: a complete plan has a file, a command or an output',
    ],
    fields: ['status', 'questions'],
    reads: ['files', 'commands', 'outputs'],
    *check({ status, questions, files, commands, outputs }) {
      if (status === 'complete' && files.length + commands.length + outputs.length === 0)
        yield should('status', 'is complete, but the plan has no file, command or output');
      if ((status === 'complete') !== (questions.length === 0))
        yield must('status', `must be ${questions.length === 0 ? 'complete' : 'incomplete'}`);
    },
    breach: bundle => named({ ...bundle, status: 'incomplete' }),
  }),
];

function named(content: Omit<Bundle, 'bundle_id'>): Bundle {
  return { ...content, bundle_id: bundleIdOf(content) };
}

const example = named({
  schema_version: 'bundle.v1',
  intent_sha256: 'sha256:1fbb1ecc1c0cc0a3de60072c07fb3a779ac08c2fb4ce3c92108f2a1d4334621e',
  status: 'complete',
  files: [
    {
      path: 'build.mjs',
      sha256: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
      size_bytes: 76,
    },
  ],
  commands: [{ argv: ['node', 'build.mjs'] }],
  outputs: ['out/c.json', 'out/d.json'],
  accept: [{ check: 'file_exists', path: 'out/c.json' }],
  limits: { timeout_ms: 20_000, max_output_files: 200, max_total_output_bytes: 10_485_760 },
  network: false,
  write_roots: ['build', 'dist', 'out'],
  questions: [],
});

export const bundle: Contract = {
  name: 'bundle',
  title: 'Bundle',
  tells: 'The exact plan for an intent: files, commands, outputs and checks, and any open questions.',
  source: 'Proctor intents',
  version: { field: 'schema_version', value: 'bundle.v1' },
  fileNames: ['bundle.json'],
  shape,
  rules,
  unknownKeys: 'BU1',
  programText: ['files', 'commands', 'outputs', 'accept', 'questions'],
  beyond: ['whether it was made from the intent whose hash it names, unless that intent is next to it'],
  // A bundle has a hash for every file, which can be longer than the file itself.
  bytesMax: 32 * MIB,
  example,
};

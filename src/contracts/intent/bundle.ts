import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { sortedAndUnique } from '../lists.ts';
import { must, rulesFor, should } from '../rule.ts';
import { contentHashText, count, filledText, matching, record, wordyText } from '../shape.ts';
import { bundleIdOf } from './ids.ts';
import { acceptCheck, limitShapes } from './parts.ts';

const shape = record({
  schema_version: z.literal('bundle.v1'),
  bundle_id: matching(/^bundle_[a-f0-9]{16}$/, 'bundle_ and 16 hexadecimal digits'),
  /** The effective intent that it was made of. */
  intent_sha256: contentHashText(),
  status: z.enum(['complete', 'incomplete']),
  /** What is put in place before anything runs; the contents stand in the intent. */
  files: z.array(record({ path: filledText(), sha256: contentHashText(), size_bytes: count() })),
  /** What is run, one after the other, each if the one before it ended well. */
  commands: z.array(record({ argv: z.array(z.string()).check(z.minLength(1)) })),
  outputs: z.array(filledText()),
  accept: z.array(acceptCheck),
  limits: record(limitShapes),
  network: z.boolean(),
  write_roots: z.array(filledText()),
  /** What must be answered before it is complete. */
  questions: z.array(
    record({
      id: matching(/^q_[a-f0-9]{16}$/, 'q_ and 16 hexadecimal digits'),
      /** What an answer is filed under. */
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
    why: 'A reader must know by which rules a bundle was written.',
    asks: ['schema_version is "bundle.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: bundle => named({ ...bundle, schema_version: 'bundle.v9' as never }),
  }),
  rule({
    id: 'BU2',
    title: 'Bundle Named By Content',
    why: 'A bundle that is named by what is in it cannot be changed and keep its name.',
    asks: [
      'bundle_id is bundle_ and the first 16 digits of the content hash of everything else in it',
      'intent_sha256 is sha256: and 64 hexadecimal digits',
    ],
    fields: ['bundle_id', 'intent_sha256'],
    *check(bundle) {
      if (bundle.bundle_id !== bundleIdOf(bundle)) yield must('bundle_id', 'is not that of this content');
    },
    breach: bundle => ({ ...bundle, bundle_id: 'bundle_0000000000000000' }),
  }),
  rule({
    id: 'BU3',
    title: 'Plan Stated',
    why: 'Exactly what would be done, in one order only, so that equal plans are equal bytes.',
    asks: [
      'files, commands, outputs, accept, limits, network and write_roots are there, each with its form',
      'files and outputs are sorted by path by UTF-16 code unit',
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
    why: 'A plan with a question in it is not one that can be carried out.',
    asks: [
      'status is complete exactly where questions is empty',
      'each question has id, key and text',
      'should: a complete plan has a file, a command or an output',
    ],
    fields: ['status', 'questions'],
    reads: ['files', 'commands', 'outputs'],
    *check({ status, questions, files, commands, outputs }) {
      if (status === 'complete' && files.length + commands.length + outputs.length === 0)
        yield should('status', 'is complete, and nothing is done or made');
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
  tells: 'Exactly what would be done for an intent, or was, and what is still to be asked.',
  source: 'Intents of Proctor',
  version: { field: 'schema_version', value: 'bundle.v1' },
  fileNames: ['bundle.json'],
  shape,
  rules,
  unknownKeys: 'BU1',
  programText: ['files', 'commands', 'outputs', 'accept', 'questions'],
  beyond: ['whether the intent whose hash is named is the one that it was made of, unless it lies beside it'],
  // Of every file in the intent it has the hash, which may be longer than the file.
  bytesMax: 32 * MIB,
  example,
};

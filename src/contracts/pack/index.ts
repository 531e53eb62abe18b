import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { ascending } from '../lists.ts';
import { NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { RUN_KINDS } from '../seal/statement.ts';
import { contentHashText, count, record, relativePath } from '../shape.ts';

const packShape = record({
  schema_version: z.literal('pack.v1'),
  run_id: nameText(),
  kind: z.enum(RUN_KINDS),
  seal_sha256: contentHashText(),
  unsealed: z
    .array(record({ path: relativePath(), sha256: contentHashText(), size_bytes: count() }))
    .check(z.maxLength(8)),
  left_out: z.array(relativePath()),
});

export type PackDocument = z.infer<typeof packShape>;

const rule = rulesFor<PackDocument>();

const PK13 = rule({
  id: 'PK13',
  title: 'Pack Described',
  why: 'The seal lists the files of a run. Only the pack can say what it added or left out.',
  asks: [
    'schema_version is "pack.v1"; run_id is a name; kind is script, agent, intent or suite',
    'seal_sha256 is the hash of the seal',
    'unsealed lists at most 8 entries that the seal does not name, each with path, sha256 and size_bytes',
    'left_out lists the files that the seal names and the pack does not contain',
    'both are sorted by UTF-16 code unit, without duplicates',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['schema_version', 'run_id', 'kind', 'seal_sha256', 'unsealed', 'left_out'],
  *check({ unsealed, left_out }) {
    yield* ascending(
      unsealed.map(({ path }) => path),
      'unsealed',
    );
    yield* ascending(left_out, 'left_out');
  },
  breach: pack => ({ ...pack, left_out: pack.left_out.toReversed() }),
});

export const pack: Contract = {
  name: 'pack',
  title: 'Pack',
  tells: 'The files that a pack contains in addition to the sealed ones, and the sealed files that it omits.',
  source: 'Proctor packs',
  version: { field: 'schema_version', value: 'pack.v1' },
  shape: packShape,
  rules: [PK13],
  unknownKeys: 'PK13',
  beyond: ['whether the archive has the entries that it names, unless you verify the archive itself'],
  bytesMax: 64 * MIB,
  example: {
    schema_version: 'pack.v1',
    run_id: 'script_20260403_101500_4f1c9a7be210',
    kind: 'script',
    seal_sha256: 'sha256:9a0f6a4b5c3d2e1f00112233445566778899aabbccddeeff0123456789abcdef',
    unsealed: [
      {
        path: 'ledger-line.json',
        sha256: 'sha256:2c1b0a99887766554433221100ffeeddccbbaa99887766554433221100ffeedd',
        size_bytes: 412,
      },
    ],
    left_out: ['folder/evidence/internal/log.ndjson', 'folder/evidence/internal/result.raw'],
  } satisfies PackDocument,
};

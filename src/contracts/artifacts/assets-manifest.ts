import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { firstRepeated } from '../lists.ts';
import { must, rulesFor, should } from '../rule.ts';
import { count, filledText, isoTime, record } from '../shape.ts';
import { AA, artifactVersion } from './invariants.ts';
import { contentHashOf } from './content-hash.ts';
import { ARTIFACT_ASKS, caseId, digest, portablePath, side } from './words.ts';

const assetsManifestShape = record({
  schema_version: z.literal('assets-manifest.v1'),
  generated_at: isoTime(),
  items: z.array(
    record({
      asset_id: filledText(),
      href: portablePath(),
      kind: z.enum(['full_body', 'failure_meta', 'full_payload', 'retrieval_snippets', 'other']),
      case_id: z.nullable(caseId()),
      side: z.nullable(side()),
      size_bytes: count(),
      sha256: z.optional(digest()),
    }),
  ),
});

type AssetsManifest = z.infer<typeof assetsManifestShape>;

const rule = rulesFor<AssetsManifest>();

const rules = [
  artifactVersion('assets-manifest.v1'),
  rule({
    ...AA.portablePaths,
    asks: ['href is a relative path', ...ARTIFACT_ASKS.portablePath, 'should: href starts with assets/'],
    fields: ['items[].href'],
    *check({ items }) {
      for (const [index, { href }] of items.entries()) {
        if (!href.startsWith('assets/')) yield should(`items[${index}].href`, 'should start with assets/, as in cases');
      }
    },
    breach: withFirstItem({ href: 'assets/../../outside.txt' }),
  }),
  rule({
    ...AA.caseNamed,
    asks: ['case_id is a case id or null', ...ARTIFACT_ASKS.caseId, 'side is baseline, new or null'],
    fields: ['items[].case_id', 'items[].side'],
    breach: withFirstItem({ side: 'old' }),
  }),
  rule({
    ...AA.assetsListed,
    asks: [
      'generated_at is an instant',
      ...ARTIFACT_ASKS.isoTime,
      'items is a list',
      'asset_id is not empty',
      'kind is full_body, failure_meta, full_payload, retrieval_snippets or other',
      'size_bytes is a non-negative integer',
      'asset_id and href are unique',
    ],
    fields: ['generated_at', 'items'],
    *check({ items }) {
      for (const key of ['asset_id', 'href'] as const) {
        const repeated = firstRepeated(items.map(item => item[key].replace(/(?<=^|\/)\.\//g, '')));
        if (repeated !== undefined) yield must(`items[${repeated}].${key}`, 'is a duplicate');
      }
    },
    breach: manifest => ({ ...manifest, items: manifest.items.map(item => ({ ...item, asset_id: 'asset' })) }),
  }),
  rule({
    ...AA.assetDigests,
    asks: ['sha256, if present, is a digest', ...ARTIFACT_ASKS.digest],
    fields: ['items[].sha256'],
    breach: withFirstItem({ sha256: 'md5:d41d8cd98f00b204e9800998ecf8427e' }),
  }),
];

function withFirstItem(change: object) {
  return ({ items: [first, ...rest], ...manifest }: AssetsManifest) => ({
    ...manifest,
    items: [{ ...first, ...change }, ...rest],
  });
}

const example: AssetsManifest = {
  schema_version: 'assets-manifest.v1',
  generated_at: '2026-01-06T12:00:09.430Z',
  items: [
    {
      asset_id: 'body_refund-large_new',
      href: 'assets/full_body_refund-large_new.html',
      kind: 'full_body',
      case_id: 'refund-large',
      side: 'new',
      size_bytes: 2_000_000,
      sha256: 'sha256:6b2f1c0e8d97a4535e0b7c1fd2a8964037be5f18c2d09a6e741b3f50c8d2e9a7',
    },
    {
      asset_id: 'meta_refund-large_new',
      href: 'assets/full_body_refund-large_new.meta.json',
      kind: 'failure_meta',
      case_id: 'refund-large',
      side: 'new',
      size_bytes: 512,
      sha256: 'sha256:c41d7e09b5a2386ff0e4128d93b6a7510cde84f72b19503da6c8e7f0412b9d36',
    },
    { asset_id: 'cases', href: 'assets/cases.json', kind: 'other', case_id: null, side: null, size_bytes: 1_874 },
  ],
};

export const assetsManifest: Contract = {
  name: 'assets-manifest',
  title: 'List of assets',
  tells: 'The files in assets/, with their case, size and hash.',
  source: 'Agent Artifact Contract v1, section 7.2',
  version: { field: 'schema_version', value: 'assets-manifest.v1' },
  shape: assetsManifestShape,
  rules,
  unknownKeys: AA.schemaVersion.id,
  claims: claimsOf,
  beyond: [
    'whether the list is complete, unless the folder is verified as well',
    'whether an asset contains what its kind says',
  ],
  /** The manifest is in assets/, but its hrefs are relative to the run folder, like all others. */
  claimsFrom: 1,
  listsItsFolder: true,
  bytesMax: 16 * MIB,
  example,
};

function* claimsOf({ items }: AssetsManifest): Generator<Claim> {
  for (const [index, { href, size_bytes, sha256 }] of items.entries()) {
    const claim = { at: `items[${index}].href`, file: href, bytes: size_bytes };
    yield sha256 === undefined ? claim : { ...claim, sha256: contentHashOf(sha256) };
  }
}

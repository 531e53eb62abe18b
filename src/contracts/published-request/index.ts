import * as z from 'zod/mini';
import { canonicalize } from '../../base/canonical.ts';
import { type ContentHash, isContentHash } from '../../base/hash.ts';
import { unsafePath } from '../../base/path.ts';
import { attemptKey } from '../attempt-key.ts';
import { type Contract, MIB } from '../contract.ts';
import { publishedVersion } from '../published-script/shape.ts';
import { INPUTS_FILE } from '../published-script/rules.ts';
import { versionDigest } from '../published-script/version-digest.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { bareNameFault } from '../script-request/bare-name.ts';
import { requestedShape } from '../script-request/shape.ts';
import { contentHashText, count, filledText, matching, record } from '../shape.ts';

export const publishedRequestShape = record({
  schema_version: z.literal('published-request.v1'),
  /** The run, the word published, and 1: a run of a published script begins at most once. */
  key: filledText(),
  run_id: filledText(),
  published: publishedVersion,
  /** All files of the version. The digest in `published` covers them. */
  files: z
    .array(
      record({
        path: filledText(),
        mode: matching(/^(?:644|755)$/, 'a mode'),
        bytes: count(),
        sha256: contentHashText(),
      }),
    )
    .check(z.maxLength(1_000)),
  /** The path of the script in the version. */
  script: filledText(),
  /** The files of the version that the script finds in `input/`. */
  bundled: z.array(filledText()).check(z.maxLength(1_000)),
  /** The files of the order that it finds there: the uploads, and the values of the form. */
  inputs: z.array(record({ name: filledText(), bytes: count(), sha256: contentHashText() })).check(z.maxLength(1_000)),
  /** The limits in script.yaml, as script-request.v1 states them. */
  requested: requestedShape,
  /** How much of the output to keep. */
  caps: record({ stdout_bytes: count(), stderr_bytes: count(), html_bytes: count(), summary_bytes: count() }),
});

/** The document in a queue that says which run of a published script a worker makes. */
export type PublishedRequest = z.infer<typeof publishedRequestShape>;

/** Takes the place of the case in the key and in the outcome. */
export const PUBLISHED_CASE = 'published';

/** The largest file of an order that workers can fetch. */
export const SENT_FILE_BYTES_MAX = 64 * MIB;

/** The digests of the files that a worker fetches. The document may come from anyone. */
export function filesOfPublished(value: object): ContentHash[] {
  const { schema_version: version, files, inputs } = value as Record<string, unknown>;
  if (version !== 'published-request.v1') return [];
  const entries = [files, inputs].flatMap(list => (Array.isArray(list) ? (list as unknown[]) : []));
  return entries.flatMap(entry => {
    const { sha256 } = (entry ?? {}) as { sha256?: unknown };
    return isContentHash(sha256) ? [sha256] : [];
  });
}

const rule = rulesFor<PublishedRequest>();

const files: PublishedRequest['files'] = [
  {
    path: 'clean.py',
    mode: '644',
    bytes: 812,
    sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
  },
  {
    path: 'script.yaml',
    mode: '644',
    bytes: 640,
    sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
  },
  {
    path: 'templates/summary.html',
    mode: '644',
    bytes: 95,
    sha256: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
  },
];

const example: PublishedRequest = {
  schema_version: 'published-request.v1',
  key: 'script_20260403_101500_4f1c9a7be210/published/1',
  run_id: 'script_20260403_101500_4f1c9a7be210',
  published: { name: 'clean-orders', version: '1.2.0', digest: versionDigest(files) },
  files,
  script: 'clean.py',
  bundled: ['templates/summary.html'],
  inputs: [
    {
      name: 'inputs.json',
      bytes: 131,
      sha256: 'sha256:3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
    },
    {
      name: 'orders.csv',
      bytes: 20_480,
      sha256: 'sha256:1234c0ffee5678deca0de9abcdef01234c0ffee5678deca0de9abcdef0123456',
    },
  ],
  requested: {
    profile: null,
    sandbox: null,
    isolation: null,
    timeout_ms: 120_000,
    idle_timeout_ms: null,
    memory_bytes: null,
    cpu_seconds: null,
    cpus: null,
    pids: null,
    max_output_files: 10,
    max_total_output_bytes: 50_000_000,
  },
  caps: { stdout_bytes: 200_000, stderr_bytes: 200_000, html_bytes: 500_000, summary_bytes: 2_000 },
};

const rules = [
  versionRule('PQ1', 'Published Request Version Known', 'published-request.v1', 'a request'),
  rule({
    id: 'PQ2',
    title: 'Run Named',
    why: 'The server names the run before a worker begins it, so that it begins at most once.',
    asks: [
      'run_id is the id of a script run, such as script_20260106_120000_4f1c9a7be210',
      'key is the run_id, published and 1, with slashes between them',
    ],
    fields: ['key', 'run_id'],
    *check({ key, run_id }) {
      if (!/^script_\d{8}_\d{6}_[0-9a-f]{12}$/.test(run_id)) yield must('run_id', 'is not the id of a script run');
      if (key !== attemptKey({ run_id, case_id: PUBLISHED_CASE, attempt: 1 }))
        yield must('key', 'does not name the run');
    },
    breach: request => ({ ...request, key: `${request.run_id}/published/2` }),
  }),
  rule({
    id: 'PQ3',
    title: 'Version Complete',
    why: 'A worker allows a version by its digest, so the digest must cover every file that it fetches.',
    asks: [
      'published has the name, the version and the digest of a published script',
      'files are all files of the version, sorted by path: path, mode, bytes and sha256; the digest in published covers them',
      'the paths are normalized, relative and different; one of them is script.yaml',
      'script and bundled are paths in files; the name of script, and those of bundled, are bare names',
    ],
    fields: ['published', 'files', 'script', 'bundled'],
    *check({ published, files, script, bundled }) {
      const paths = new Set(files.map(({ path }) => path));
      if (versionDigest(files) !== published.digest) yield must('published.digest', 'does not cover files');
      if (paths.size !== files.length || [...paths].some(path => unsafePath(path) !== undefined))
        yield must('files', 'has a path twice, or an unsafe one');
      for (const path of ['script.yaml', script, ...bundled])
        if (!paths.has(path)) yield must('files', 'lacks a file that the script needs');
      if (script.includes('/')) yield must('script', 'is not directly in the folder');
    },
    breach: request => ({ ...request, published: { ...request.published, digest: `sha256:${'0'.repeat(64)}` } }),
  }),
  rule({
    id: 'PQ4',
    title: 'Inputs Named',
    why: 'The script finds its inputs by name, and the server compares them with those in the evidence.',
    asks: [
      'inputs has name, bytes and sha256 of every file of the order; one of them is inputs.json',
      'the names of inputs and of bundled are bare names, and different',
    ],
    fields: ['inputs'],
    reads: ['bundled'],
    *check({ inputs, bundled }) {
      const names = [...inputs.map(({ name }) => name), ...bundled.map(bareNameOf)];
      if (names.some(name => bareNameFault(name) !== undefined)) yield must('inputs', 'has a name that is not bare');
      if (new Set(names).size !== names.length) yield must('inputs', 'has a name twice');
      if (!inputs.some(({ name }) => name === INPUTS_FILE)) yield must('inputs', `lacks ${INPUTS_FILE}`);
    },
    breach: request => ({ ...request, inputs: [] }),
  }),
  rule({
    id: 'PQ5',
    title: 'Limits Stated',
    why: 'The worker enforces the limits, and the server compares them with those in the evidence.',
    asks: [
      'requested has the limits in script.yaml, as in script-request.v1; profile, sandbox and isolation are null',
      'caps has stdout_bytes, stderr_bytes, html_bytes and summary_bytes: how much of the output to keep',
    ],
    fields: ['requested', 'caps'],
    *check({ requested: { profile, sandbox, isolation } }) {
      if (canonicalize([profile, sandbox, isolation]) !== '[null,null,null]')
        yield must('requested', 'must not choose a profile, a sandbox or an isolation');
    },
    breach: request => ({ ...request, requested: { ...request.requested, sandbox: 'none' as const } }),
  }),
];

/** The name in `input/` of a file of the version. */
export function bareNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export const publishedRequest: Contract = {
  name: 'published-request',
  title: 'Run of a published script for a worker',
  tells:
    'One run of a published script that a worker makes: the version, its files and inputs by digest, and the limits.',
  source: 'Queue of Proctor',
  version: { field: 'schema_version', value: 'published-request.v1' },
  shape: publishedRequestShape,
  rules,
  unknownKeys: 'PQ1',
  programText: ['files', 'bundled', 'inputs', 'script'],
  beyond: ['whether the store has the files'],
  bytesMax: 8 * MIB,
  example,
};

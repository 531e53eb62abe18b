import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, filledText, record, relativePath } from '../shape.ts';
import { objectName } from '../workspace/series.ts';
import { STEP_ASKS } from './words.ts';

/** What the agent started from, if that is more than a folder of the user. */
export const baseShape = record({
  kind: z.enum(['folder', 'repository', 'bundle', 'files']),
  /** The repository or bundle as written. */
  name: z.nullable(relativePath()),
  bundle_sha256: z.nullable(contentHashText()),
  /** The commit of the repository; null if the agent got a new repository. */
  commit: z.nullable(objectName()),
  /** The commit that the agent saw. */
  base_commit: objectName(),
  files: z.nullable(record({ sha256: contentHashText(), total: count().check(z.gte(1)) })),
  setup: z.optional(
    record({
      command: filledText(),
      exit_code: z.literal(0),
      /** How long the command took when it ran, which may be earlier than this run. */
      duration_ms: count(),
      timeout_ms: count().check(z.gte(1)),
      memory_bytes: z.nullable(count()),
      network: z.enum(['blocked', 'open']),
      cached: z.boolean(),
      /** The hash of everything that the command created or changed. */
      sha256: contentHashText(),
      /** Files that joined the base commit or left it. */
      changed: count(),
      /** Files that git ignores, such as dependencies. */
      ignored: count(),
      bytes: count(),
      /** Devices, sockets and other entries that Proctor did not keep. */
      left_out: count(),
    }),
  ),
});

export type BaseNote = z.infer<typeof baseShape>;

export const BASE_ASKS = [
  'base, if present, has kind, name, bundle_sha256, commit, base_commit and files',
  'kind is folder, repository, bundle or files',
  'name is not null if and only if kind is repository or bundle',
  ...STEP_ASKS.relativePath,
  'bundle_sha256 is not null if and only if kind is bundle',
  'commit is null or a commit, and base_commit is a commit',
  'setup, if present, has command (not empty), exit_code (0), duration_ms, timeout_ms (at least 1), memory_bytes (or null), network (blocked or open), cached, sha256, changed, ignored, bytes and left_out',
  'files is null, or has sha256 (of paths, contents and modes) and total (at least 1); it is not null if kind is files',
];

export function* baseFindings(base: BaseNote | undefined): Generator<Finding> {
  if (!base) return;
  const { kind, name, bundle_sha256, files } = base;
  const isNamed = kind === 'repository' || kind === 'bundle';
  if ((name !== null) !== isNamed) yield must('base.name', 'must be null unless kind is repository or bundle');
  if ((bundle_sha256 !== null) !== (kind === 'bundle'))
    yield must('base.bundle_sha256', 'must be null unless kind is bundle');
  if (kind === 'files' && files === null) yield must('base.files', 'must not be null if kind is files');
}

export const BASE_EXAMPLE: BaseNote = {
  kind: 'bundle',
  name: 'tasks/parse.bundle',
  bundle_sha256: 'sha256:5f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c45f1d6c0b8a0e4f3f2f',
  commit: '3f1c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5',
  base_commit: '9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4b3',
  files: { sha256: 'sha256:b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c45f1d6c0b8a0e4f3f2f5f0d1', total: 3 },
  setup: {
    command: 'npm ci --offline',
    exit_code: 0,
    duration_ms: 8_120,
    timeout_ms: 600_000,
    memory_bytes: 2_147_483_648,
    network: 'blocked',
    cached: false,
    sha256: 'sha256:1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c45f1d6c0b8a0e4f3f2f5f0d',
    changed: 0,
    ignored: 2_140,
    bytes: 18_400_211,
    left_out: 0,
  },
};

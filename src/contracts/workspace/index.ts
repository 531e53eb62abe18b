import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { contentHashText, count, filledText, matching, record, relativePath } from '../shape.ts';
import { LEFT_OUT } from '../agent-step/changes.ts';
import { STEP_ASKS, nameText } from '../agent-step/words.ts';
import { objectName, SERIES_ASKS, seriesFindings, seriesShape } from './series.ts';

/** The maximum number of listed entries; `total` counts all entries. */
export const CHANGED_LISTED_MAX = 10_000;
export const LISTED_MAX = 1_000;

const gitMode = () => matching(/^(?:100644|100755|120000|160000)$/, 'a git mode: 100644, 100755, 120000 or 160000');
const some = <Item extends z.ZodMiniType>(item: Item) => record({ total: count(), listed: z.array(item) });

const shape = record({
  schema_version: z.literal('workspace-status.v1'),
  run_id: nameText(),
  kind: z.enum(['clone', 'copy']),
  base: record({
    ref: filledText(),
    sha: objectName(),
    /** The commit of the repository, if Proctor added files to it to make `sha`. */
    from_sha: z.optional(objectName()),
    branch: filledText(),
  }),
  diff: record({
    path: relativePath(),
    sha256: contentHashText(),
    bytes: count(),
    cut: z.nullable(record({ bytes_total: count(), why: z.enum(['bytes', 'file_bytes', 'entries', 'time']) })),
  }),
  changed: some(
    record({
      path: relativePath(),
      encoded: z.optional(z.literal(true)),
      change: z.enum(['add', 'update', 'delete']),
      bytes: count(),
      mode: gitMode(),
      mode_before: z.optional(gitMode()),
    }),
  ),
  ignored: record({ total: count(), bytes: count(), listed: z.array(relativePath()) }),
  left_out: some(record({ path: relativePath(), why: z.enum(LEFT_OUT), bytes: count() })),
  commits: record({
    total: z.nullable(count()),
    listed: z.array(record({ sha: objectName(), subject: z.string() })),
    series: z.optional(seriesShape),
  }),
  refs: some(
    record({
      name: filledText(),
      change: z.enum(['new', 'moved', 'deleted']),
      sha: z.nullable(objectName()),
      protected: z.boolean(),
    }),
  ),
  branch_moved: z.boolean(),
  rewritten: z.boolean(),
  git_folder: z.enum(['kept', 'gone', 'replaced']),
  git_config_changed: z.boolean(),
  hooks: some(relativePath()),
  nested_repositories: some(relativePath()),
  submodules: some(record({ path: relativePath(), from: z.nullable(objectName()), to: z.nullable(objectName()) })),
  links_out: some(relativePath()),
  collisions: some(relativePath()),
  needs_review: z.optional(some(record({ path: relativePath(), reason: filledText() }))),
  notes: z.array(z.string()),
});

export type WorkspaceStatus = z.infer<typeof shape>;

const rule = rulesFor<WorkspaceStatus>();

const NONE = { total: 0, listed: [] };

const LISTS = [
  'changed',
  'ignored',
  'left_out',
  'refs',
  'hooks',
  'nested_repositories',
  'submodules',
  'links_out',
  'collisions',
  'needs_review',
] as const;

const rules = [
  versionRule('WS1', 'Version Known', 'workspace-status.v1', 'the status'),
  rule({
    id: 'WS2',
    title: 'Base Named',
    why: 'Changes are meaningful only with the commit that they are based on.',
    asks: [
      'run_id is a name',
      ...STEP_ASKS.name,
      'kind is clone or copy',
      'base has ref and branch (both not empty) and sha (a commit)',
      'base.from_sha, if present, is the commit to which Proctor added files to make sha',
    ],
    fields: ['run_id', 'kind', 'base'],
    breach: ({ base, ...status }) => ({ ...status, base: { ...base, sha: 'HEAD' } }),
  }),
  rule({
    id: 'WS3',
    title: 'Diff Named',
    why: 'Proctor applies a diff only if it is complete and unchanged.',
    asks: [
      'diff has path (relative to the run folder), sha256 and bytes',
      ...STEP_ASKS.relativePath,
      'diff.cut is null, or has bytes_total and why: bytes, file_bytes, entries or time',
      'if diff.cut is null, diff.bytes is 0 if and only if changed.total is 0',
    ],
    fields: ['diff'],
    reads: ['changed.total'],
    *check({ diff, changed }) {
      if (diff.cut === null && (diff.bytes === 0) !== (changed.total === 0)) {
        yield must('diff.bytes', 'contradicts changed.total: either both are 0 or neither is');
      }
    },
    breach: ({ diff, ...status }) => ({ ...status, diff: { ...diff, bytes: 0 } }),
  }),
  rule({
    id: 'WS4',
    title: 'Changes Listed',
    why: 'A reviewer must see every changed path, or the number of paths that are not listed.',
    asks: [
      'changed has total and listed; each entry has path, change, bytes and mode, and may have encoded and mode_before',
      'change is add, update or delete; mode is 100644, 100755, 120000 or 160000',
      'encoded is true if the name contains characters that a document must not contain, which are written like %0A',
      'ignored has total, bytes and listed (a list of paths)',
      'left_out lists files that a diff cannot represent, with path, why and bytes',
      `why is ${LEFT_OUT.slice(0, -1).join(', ')} or ${LEFT_OUT.at(-1)}`,
      'submodules lists path, from and to; links_out, collisions, nested_repositories and hooks list paths',
      'needs_review, if present, lists files that run automatically once applied, with path and reason',
      'each list is complete up to 1,000 entries; changed is complete up to 10,000',
      'changed lists no path twice, unless it is encoded',
    ],
    fields: [
      'changed',
      'ignored',
      'left_out',
      'submodules',
      'links_out',
      'collisions',
      'nested_repositories',
      'hooks',
      'needs_review',
      'notes',
    ],
    reads: ['refs'],
    *check(status) {
      for (const list of LISTS) {
        const { total, listed } = status[list] ?? NONE;
        const most = list === 'changed' ? CHANGED_LISTED_MAX : LISTED_MAX;
        if (listed.length !== Math.min(total, most))
          yield must(`${list}.listed`, `must have ${Math.min(total, most)} entries, because total is ${total}`);
      }
      const seen = new Set<string>();
      for (const [index, { path, encoded }] of status.changed.listed.entries()) {
        const key = `${encoded === true} ${path}`;
        if (encoded !== true && seen.has(key)) yield must(`changed.listed[${index}].path`, 'is listed twice');
        seen.add(key);
      }
    },
    breach: ({ changed, ...status }) => ({ ...status, changed: { ...changed, total: 3 } }),
  }),
  rule({
    id: 'WS5',
    title: 'History Told',
    why: 'A diff does not show commits, branches, settings or hooks, which can hide changes or run code.',
    asks: [
      'commits has total (null if not all can be read) and listed; each entry has sha and subject',
      ...SERIES_ASKS,
      'each entry of refs has name, change (new, moved or deleted), sha and protected',
      'branch_moved, rewritten and git_config_changed are true or false',
      'git_folder is kept, gone or replaced',
      'branch_moved is true if a listed ref is protected',
    ],
    fields: ['commits', 'refs', 'branch_moved', 'rewritten', 'git_folder', 'git_config_changed'],
    *check({ commits, refs, branch_moved }) {
      if (commits.series) yield* seriesFindings(commits.series);
      if (refs.listed.some(ref => ref.protected) && !branch_moved) {
        yield must('branch_moved', 'must be true, because a protected branch is listed');
      }
    },
    breach: status => ({ ...status, git_folder: 'lost' }),
  }),
];

const example: WorkspaceStatus = {
  schema_version: 'workspace-status.v1',
  run_id: 'agent_20260403_101500_4f1c9a7be210',
  kind: 'clone',
  base: {
    ref: 'main',
    sha: '0f1e2d3c4b5a69788796a5b4c3d2e1f001122334',
    branch: 'proctor/agent_20260403_101500_4f1c9a7be210',
  },
  diff: {
    path: 'workspace.diff',
    sha256: 'sha256:8012da8bd518707ce096f0575fddcb4a0692642e4b7b25914aae9544a5a2e112',
    bytes: 1_415,
    cut: null,
  },
  changed: {
    total: 2,
    listed: [
      { path: 'src/parse.ts', change: 'update', bytes: 2_048, mode: '100755', mode_before: '100644' },
      { path: 'tests/parse.test.ts', change: 'add', bytes: 611, mode: '100644' },
    ],
  },
  ignored: { total: 1, bytes: 120, listed: ['build/cache.json'] },
  left_out: { total: 0, listed: [] },
  commits: { total: 1, listed: [{ sha: '99887766554433221100ffeeddccbbaa99887766', subject: 'Test parse' }] },
  refs: {
    total: 1,
    listed: [
      {
        name: 'refs/heads/proctor/agent_20260403_101500_4f1c9a7be210',
        change: 'moved',
        sha: '99887766554433221100ffeeddccbbaa99887766',
        protected: false,
      },
    ],
  },
  branch_moved: false,
  rewritten: false,
  git_folder: 'kept',
  git_config_changed: false,
  hooks: { total: 0, listed: [] },
  nested_repositories: { total: 0, listed: [] },
  submodules: { total: 0, listed: [] },
  links_out: { total: 0, listed: [] },
  collisions: { total: 0, listed: [] },
  needs_review: { total: 0, listed: [] },
  notes: ['The agent does not see 2 entries that git does not track.'],
};

export const workspaceStatus: Contract = {
  name: 'workspace-status',
  title: 'Workspace status',
  tells: "The changes to an agent's work tree, recorded after all its processes ended.",
  schemaTells:
    'What an agent left of the tree it was given, as it was found when everything of the agent was dead. (Runner Contract (agent steps), sections 8 and 9: the role workspace_status)',
  source: 'Runner Contract (agent steps), sections 8 and 9: the role workspace_status',
  version: { field: 'schema_version', value: 'workspace-status.v1' },
  fileNames: ['workspace_status.json'],
  shape,
  rules,
  unknownKeys: 'WS1',
  // The agent and the user choose the names of files and branches.
  programText: [
    'base.ref',
    'changed.listed[].path',
    'ignored.listed',
    'left_out.listed[].path',
    'commits.listed[].subject',
    'commits.series.listed',
    'refs.listed[].name',
    'hooks.listed',
    'nested_repositories.listed',
    'submodules.listed[].path',
    'links_out.listed',
    'collisions.listed',
    'needs_review.listed[].path',
    'notes',
  ],
  // Claims are relative to the run folder; the document is in evidence/steps/<step>/.
  claimsFrom: 3,
  *claims({ diff, commits: { series } }: WorkspaceStatus): Iterable<Claim> {
    yield { at: 'diff', file: diff.path, sha256: diff.sha256, bytes: diff.bytes };
    if (series?.diff) {
      const { path: file, sha256, bytes } = series.diff;
      yield { at: 'commits.series.diff', file, sha256, bytes };
    }
  },
  beyond: ['whether the diff contains the listed changes', 'changes that the agent made and reverted'],
  bytesMax: 16 * MIB,
  example,
};

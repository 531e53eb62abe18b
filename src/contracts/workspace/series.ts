import * as z from 'zod/mini';
import { SERIES_LEFT_OUT } from '../agent-step/changes.ts';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, matching, record, relativePath } from '../shape.ts';

export const objectName = () =>
  matching(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'a git object name: 40 or 64 hexadecimal digits');

const signature = () =>
  record({
    name: z.string(),
    email: z.string(),
    date: matching(/^\d{1,12} [+-]\d{4}$/, 'seconds since 1970 and a time zone, such as 1775211300 +0000'),
  });

/** The agent's commits, with everything that is needed to make them again. */
export const seriesShape = record({
  why: z.nullable(z.enum(SERIES_LEFT_OUT)),
  diff: z.nullable(record({ path: relativePath(), sha256: contentHashText(), bytes: count() })),
  listed: z.array(
    record({
      sha: objectName(),
      author: signature(),
      committer: signature(),
      message: z.string(),
      diff_bytes: count(),
    }),
  ),
});

export const SERIES_ASKS = [
  "commits.series, if present, has the commits from base to the agent's HEAD, oldest first",
  'series has why, diff and listed; each entry has sha, author, committer, message and diff_bytes',
  'author and committer have name, email and date (seconds since 1970 and a time zone)',
  `if the commits are left out, why is ${SERIES_LEFT_OUT.slice(0, -1).join(', ')} or ${SERIES_LEFT_OUT.at(-1)}, diff is null and listed is empty`,
  'otherwise why is null, and diff has path, sha256 and bytes: the sum of all diff_bytes',
];

export function* seriesFindings({ why, diff, listed }: z.infer<typeof seriesShape>): Generator<Finding> {
  if ((why === null) !== (diff !== null)) yield must('commits.series.diff', 'must be null if and only if why is given');
  if ((why === null) !== listed.length > 0)
    yield must('commits.series.listed', 'must be empty if and only if why is given');
  const bytes = listed.reduce((sum, commit) => sum + commit.diff_bytes, 0);
  if (diff && diff.bytes !== bytes) yield must('commits.series.diff.bytes', 'is not the sum of diff_bytes');
}

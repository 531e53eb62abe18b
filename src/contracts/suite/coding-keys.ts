import * as z from 'zod/mini';
import { checkShape, checkListFindings, CHECKS_MAX, CHECK_MEMORY, CHECK_TIME } from '../checks/shape.ts';
import { CLIMBS_OUT, unsafePath } from '../../base/path.ts';
import { placeOf } from '../../base/place.ts';
import { type Finding, must } from '../rule.ts';
import { filledText, matching, record, wordyText } from '../shape.ts';

const time = () => matching(CHECK_TIME, 'a time such as 30s or 5m');

const positive = () => z.int().check(z.gte(1));

/** What an agent works on, under which limits, and how its work is checked. Per case, or as defaults of a file. */
export const codingKeys = {
  dir: z.optional(filledText()),
  repository: z.optional(filledText()),
  ref: z.optional(matching(/^[^\s\p{Cc}-][^\s\p{Cc}]{0,199}$/u, 'the name of a commit, a branch or a tag')),
  files: z.optional(filledText()),
  setup: z.optional(
    z.union([
      wordyText(),
      record({
        command: wordyText(),
        timeout: z.optional(time()),
        memory: z.optional(matching(CHECK_MEMORY, 'a size such as 512m or 2g')),
      }),
    ]),
  ),
  /** `DIR` or `DIR:PATH`, as in the flag. */
  mounts: z.optional(z.array(filledText()).check(z.maxLength(20))),
  policy: z.optional(filledText()),
  limits: z.optional(
    record({
      timeout: z.optional(time()),
      idle_timeout: z.optional(time()),
      max_turns: z.optional(positive()),
      max_requests: z.optional(positive()),
      max_tokens: z.optional(positive()),
      max_cost_usd: z.optional(z.number().check(z.gte(0))),
    }),
  ),
  /** Wins over the agent and the model of the suite. */
  agent: z.optional(matching(/^[a-z][a-z0-9-]{0,30}$/, 'an agent name in lower case')),
  model: z.optional(matching(/^\w[\w.:/@ -]{0,199}$/, 'the name of a model')),
  checks: z.optional(z.array(checkShape).check(z.minLength(1), z.maxLength(CHECKS_MAX))),
};

const codingShape = record(codingKeys);

/** What a case asks of an agent's run, besides its task. */
export type CodingKeys = z.infer<typeof codingShape>;

export const CODING_KEYS = Object.keys(codingKeys) as readonly (keyof CodingKeys)[];

export const CODING_ASKS = [
  'the following keys, if present, apply to agents only; all paths are relative to the folder of the case file',
  'dir or repository: the path of a folder or a git bundle, but not both; ref: a commit, a branch or a tag',
  'files: the path of a folder; setup: a command, or an object with command and optionally timeout and memory',
  'mounts: a list of at most 20 folders, each optionally followed by a colon and a path',
  'policy: read-only, edit, open or the path of a file; agent: a name in lower case; model: a name',
  'limits: an object that may have timeout and idle_timeout (times such as 5m)',
  'limits may have max_turns, max_requests and max_tokens (at least 1), and max_cost_usd (at least 0)',
  `checks: a list of 1 to ${CHECKS_MAX} checks, as in a checks file, with unique names`,
];

/** Checks well-formed keys. `at` is the path of the object that has them, or empty. */
export function* codingFindings(keys: CodingKeys, at: string): Generator<Finding> {
  // Most cases have none of these keys.
  if (CODING_KEYS.every(key => keys[key] === undefined)) return;
  const { dir, repository, checks = [], mounts = [] } = keys;
  const inside = (key: string): string => placeOf(at, key);
  if (dir !== undefined && repository !== undefined) yield must(inside('repository'), 'must not be combined with dir');
  for (const key of ['dir', 'repository', 'files', 'policy'] as const) yield* relativeFindings(keys[key], inside(key));
  for (const [index, mount] of mounts.entries()) yield* mountFindings(mount, placeOf(inside('mounts'), index));
  yield* checkListFindings(checks, inside('checks'));
  for (const [index, { overlay }] of checks.entries())
    yield* relativeFindings(overlay, `${placeOf(inside('checks'), index)}.overlay`);
}

/** `DIR` or `DIR:PATH`, split at the last colon. */
export function mountIn(word: string): { readonly dir: string; readonly path?: string } {
  const at = word.lastIndexOf(':');
  return at === -1 ? { dir: word } : { dir: word.slice(0, at), path: word.slice(at + 1) };
}

function* mountFindings(mount: string, at: string): Generator<Finding> {
  const { dir, path } = mountIn(mount);
  if (dir === '' || path === '') yield must(at, 'must be DIR or DIR:PATH');
  else yield* relativeFindings(dir, at);
}

/** Evidence stores a case as written, so its paths must not name folders of this machine. `..` is allowed. */
function* relativeFindings(path: string | undefined, at: string): Generator<Finding> {
  if (path === undefined) return;
  const trouble = unsafePath(path.replace(/\/$/, ''));
  if (trouble !== undefined && trouble !== CLIMBS_OUT)
    yield must(at, `must be a path relative to the case file, but ${trouble}`);
}

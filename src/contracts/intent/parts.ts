import * as z from 'zod/mini';
import { holdsAbsolutePath } from '../../base/path.ts';
import { anyObject, contentHashText, filledText, record } from '../shape.ts';

/** One acceptance check. Rule IN6 defines which keys belong to which check. */
export const acceptCheck = record({
  check: z.enum(['exit_code', 'file_exists', 'content_matches', 'json_schema', 'sha256']),
  /** The exit code of the last command. */
  equals: z.optional(z.int().check(z.gte(0), z.lte(255))),
  path: z.optional(filledText()),
  pattern: z.optional(filledText()),
  schema: z.optional(anyObject()),
  sha256: z.optional(contentHashText()),
});

export type AcceptCheck = z.infer<typeof acceptCheck>;

/** The keys that each check requires besides `check`. */
export const CHECK_KEYS: Readonly<Record<AcceptCheck['check'], readonly (keyof AcceptCheck)[]>> = {
  exit_code: ['equals'],
  file_exists: ['path'],
  content_matches: ['path', 'pattern'],
  json_schema: ['path', 'schema'],
  sha256: ['path', 'sha256'],
};

export const LIMIT_NAMES = ['timeout_ms', 'max_output_files', 'max_total_output_bytes'] as const;

/** A command's arguments as shown in a result, without absolute paths. The bundle has them in full. */
export function shownCommand(argv: readonly string[]): string[] {
  return argv.map(word => (holdsAbsolutePath(word) ? PATH_HIDDEN : word));
}

const PATH_HIDDEN = '[a word with a path]';

/** Whether `shown` is `argv` as shown in a result. Earlier versions hid only well-known host paths. */
export function isShownCommand(shown: readonly string[], argv: readonly string[]): boolean {
  return (
    shown.length === argv.length &&
    shown.every((word, index) => word === argv[index] || word === shownCommand([argv[index] ?? ''])[0])
  );
}

export const isFolderPath = (path: string): boolean => path.endsWith('/');

/** Whether a path is inside one of the roots. An empty list, or the root `.`, allows every path. */
export function isBelowRoots(path: string, roots: readonly string[]): boolean {
  return roots.length === 0 || roots.some(root => root === '.' || path.startsWith(`${root}/`));
}

/** `a/` and `a/b/` for `a/b/c`. Stops at the depth that runs allow. */
export function foldersAbove(path: string): string[] {
  const names = path.split('/', PATH_DEPTH_MAX);
  return names.slice(0, -1).map((_, index) => `${names.slice(0, index + 1).join('/')}/`);
}

export const PATH_DEPTH_MAX = 32;

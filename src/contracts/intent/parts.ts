import * as z from 'zod/mini';
import { holdsAbsolutePath } from '../../base/path.ts';
import { anyObject, between, contentHashText, filledText, record } from '../shape.ts';

/** What one check of `accept` looks at; which keys belong to which check is a rule. */
export const acceptCheck = record({
  check: z.enum(['exit_code', 'file_exists', 'content_matches', 'json_schema', 'sha256']),
  /** Of the last command. */
  equals: z.optional(z.int().check(z.gte(0), z.lte(255))),
  path: z.optional(filledText()),
  pattern: z.optional(filledText()),
  schema: z.optional(anyObject()),
  sha256: z.optional(contentHashText()),
});

export type AcceptCheck = z.infer<typeof acceptCheck>;

/** The keys that each check has beside its name, all of them. */
export const CHECK_KEYS: Readonly<Record<AcceptCheck['check'], readonly (keyof AcceptCheck)[]>> = {
  exit_code: ['equals'],
  file_exists: ['path'],
  content_matches: ['path', 'pattern'],
  json_schema: ['path', 'schema'],
  sha256: ['path', 'sha256'],
};

/** The limits of a profile, within its bounds. */
export const LIMIT_NAMES = ['timeout_ms', 'max_output_files', 'max_total_output_bytes'] as const;

export const limitShapes = {
  timeout_ms: between(1_000, 600_000),
  max_output_files: between(1, 10_000),
  max_total_output_bytes: between(1_024, 1_073_741_824),
};

/**
 * The words of a command as a result shows them, which names no path of any machine, not even one that only the sandbox
 * has. The bundle has every word.
 */
export function shownCommand(argv: readonly string[]): string[] {
  return argv.map(word => (holdsAbsolutePath(word) ? PATH_HIDDEN : word));
}

const PATH_HIDDEN = '[a word with a path]';

/** Whether these are the words of a command as a result shows them. Earlier versions hid only paths of well-known roots. */
export function isShownCommand(shown: readonly string[], argv: readonly string[]): boolean {
  return (
    shown.length === argv.length &&
    shown.every((word, index) => word === argv[index] || word === shownCommand([argv[index] ?? ''])[0])
  );
}

/** A path with a final slash is a folder, and everything below it. */
export const isFolderPath = (path: string): boolean => path.endsWith('/');

/** Whether a path lies below one of the roots; an empty list is everywhere, and so is the work folder itself. */
export function isWithin(path: string, roots: readonly string[]): boolean {
  return roots.length === 0 || roots.some(root => root === '.' || path.startsWith(`${root}/`));
}

/** `a/` and `a/b/` for `a/b/c`; of a path that is deeper than any run allows, the first ones. */
export function foldersAbove(path: string): string[] {
  const names = path.split('/', DEPTH_MAX);
  return names.slice(0, -1).map((_, index) => `${names.slice(0, index + 1).join('/')}/`);
}

const DEPTH_MAX = 32;

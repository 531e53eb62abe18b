import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, record, relativePath } from '../shape.ts';
import { STEP_ASKS } from './words.ts';

/** The folders that the agent could read but not change, as they were before the run. */
export const mountsShape = z.array(
  record({ path: relativePath(), sha256: contentHashText(), entries: count(), bytes: count() }),
);

export type MountNote = z.infer<typeof mountsShape>[number];

export const MOUNTS_ASKS = [
  'mounts, if present, lists folders that were mounted read-only; each has path, sha256, entries and bytes',
  'path is relative to the root of the sandbox, such as work/node_modules, and occurs only once',
  ...STEP_ASKS.relativePath,
  'sha256 covers the mode, content and path of every entry before the run; entries and bytes count them',
];

export function* mountsFindings(mounts: readonly MountNote[] = []): Generator<Finding> {
  const seen = new Set<string>();
  for (const [index, { path }] of mounts.entries()) {
    if (seen.has(path)) yield must(`mounts[${index}].path`, 'is listed twice');
    seen.add(path);
  }
}

export const MOUNT_EXAMPLE: MountNote = {
  path: 'work/node_modules',
  sha256: 'sha256:5f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c45f1d6c0b8a0e4f3f2f',
  entries: 2_140,
  bytes: 18_400_211,
};

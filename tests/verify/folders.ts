import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { type Options, type Verdict, verify } from '../../src/verify/index.ts';
import { temporaryFolder } from '../support/support.ts';

export type Files = Record<string, string | object>;

/** Writes files into a new folder. Objects become canonical JSON. */
export function folderWith(files: Files): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : canonicalize(content));
  }
  return folder;
}

export async function verdictsOf(folder: string, options: Options = {}): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for await (const verdict of verify([folder], options)) verdicts.push(verdict);
  return verdicts;
}

/** The violations of the folder itself: `RULE place`. */
export async function brokenIn(folder: string, options: Options = {}): Promise<string[]> {
  const verdicts = await verdictsOf(folder, options);
  for (const { violations, input, within } of verdicts) if (within) expect(violations, input).toEqual([]);
  return (verdicts.at(-1) as Verdict).violations.map(({ rule_id, path }) => `${rule_id} ${path}`);
}

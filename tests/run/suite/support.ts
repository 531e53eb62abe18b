import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { CaseArtifact, RunArtifact } from '../../../src/contracts/artifacts/index.ts';
import { runSuite, type RunSuiteOptions, type SuiteRunResult } from '../../../src/verbs/run-suite.ts';
import { verify } from '../../../src/verify/index.ts';
import { temporaryFolder } from '../../support/support.ts';

export interface Ran {
  readonly cwd: string;
  readonly result: SuiteRunResult;
  /** The folder of the first repetition. */
  readonly folder: string;
  readonly run: RunArtifact;
  readonly artifact: (id: string) => CaseArtifact;
  readonly bytes: (href: string) => Buffer;
}

/** Sends cases to an agent from a temporary folder, through the library. */
export async function ranSuite(
  cases: readonly (string | object)[],
  options: Partial<RunSuiteOptions> & { readonly cwd?: string },
): Promise<Ran> {
  const cwd = options.cwd ?? temporaryFolder();
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(cases.map(asCase)));
  const result = await runSuite({
    cases: 'cases.json',
    as: 'baseline',
    retries: 0,
    backoffMs: 5,
    breakerPausesMs: [5, 5],
    ...options,
    cwd,
  });
  const folder = result.runs[0]?.place.folder as string;
  const bytes = (href: string): Buffer => readFileSync(path.join(folder, href));
  const read = (file: string): unknown => JSON.parse(bytes(file).toString());
  return {
    cwd,
    result,
    folder,
    run: read('run.json') as RunArtifact,
    artifact: id => read(`${id}.json`) as CaseArtifact,
    bytes,
  };
}

function asCase(one: string | object): object {
  return typeof one === 'string' ? { id: one, input: { user: `What about ${one}?` } } : one;
}

/** Expects the folder to be valid under the strictest options. */
export async function expectValid(folder: string): Promise<void> {
  const troubles: unknown[] = [];
  for await (const verdict of verify([folder], { strict: true })) {
    if (verdict.outcome !== 'valid') troubles.push(verdict);
  }
  expect(troubles).toEqual([]);
}

/** The contents of all files in a folder, as one text. */
export function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

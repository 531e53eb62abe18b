import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { JournalChain, SEPARATOR } from '../../src/evidence/run-folder/chain.ts';
import { JOURNAL } from '../../src/evidence/run-folder/journal.ts';
import type { Contract } from '../../src/contracts/contract.ts';
import { examine } from '../../src/verify/examine.ts';
import type { Options } from '../../src/verify/options.ts';
import type { Verdict } from '../../src/verify/verdict.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** A copy of a contract's example with values replaced; `undefined` removes a key. */
export function exampleWith(contract: Contract, changes: Record<string, unknown>): unknown {
  const document: unknown = structuredClone(contract.example);
  for (const [at, value] of Object.entries(changes)) {
    const keys = at.split('.');
    const last = keys.pop() as string;
    const parent = keys.reduce((node, key) => (node as Record<string, unknown>)[key], document) as Record<
      string,
      unknown
    >;
    if (value === undefined) delete parent[last];
    else parent[last] = value;
  }
  return document;
}

/** The verdict on a value, written as canonical JSON. */
export async function judged(contract: Contract, value: unknown, options: Options = {}): Promise<Verdict> {
  return judgedText(contract, canonicalize(value), options);
}

export async function judgedText(
  contract: Contract,
  text: string | Uint8Array,
  options: Options = {},
): Promise<Verdict> {
  const bytes = Buffer.from(text as string);
  return (await examine(bytes, { input: 'document' }, { as: contract.name, ...options })).verdict;
}

export const rulesOf = ({ violations }: Pick<Verdict, 'violations'>): string[] =>
  violations.map(({ rule_id }) => rule_id);
export const adviceOf = ({ advice }: Pick<Verdict, 'advice'>): string[] => advice.map(({ rule_id }) => rule_id);

/** Signs a journal that a test wrote, as if Proctor had written it in that folder. A torn end stays torn. */
export function proveJournal(folder: string): void {
  const file = path.join(folder, JOURNAL);
  const bytes = readFileSync(file);
  const end = bytes.lastIndexOf(0x0a) + 1;
  const lines = end === 0 ? [] : bytes.toString('utf8', 0, end - 1).split('\n');
  const chain = JournalChain.begin(folder);
  const proven = lines.map(line => line.replace(/\t.*$/, '')).map(line => `${line}${SEPARATOR}${chain.next(line)}\n`);
  writeFileSync(file, Buffer.concat([Buffer.from(proven.join('')), bytes.subarray(end)]), { mode: 0o600 });
}

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command line as a user would. */
export function proctor(
  args: readonly string[],
  options: { input?: string | Uint8Array; cwd?: string; env?: NodeJS.ProcessEnv; uid?: number } = {},
): Ran {
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    [path.join(ROOT, 'dist', 'proctor.js'), ...args],
    {
      ...options,
      env: { ...process.env, NO_COLOR: '1', npm_lifecycle_event: '', ...options.env },
      encoding: 'utf8',
      // Stops a command that never ends; a slow machine needs a minute for deep tests.
      timeout: 300_000,
      maxBuffer: 256 * 1024 * 1024,
    },
  );
  // A program that rejects its input early closes the pipe. That is a result, not a failure.
  if (error && !('code' in error && error.code === 'EPIPE')) throw error;
  return { code: status, stdout, stderr: unhurried(stderr) };
}

/** Removes notes about waiting, which depend on other runs on this machine. */
export function unhurried(stderr: string): string {
  return stderr.replace('waiting: all run slots are in use …\n', '');
}

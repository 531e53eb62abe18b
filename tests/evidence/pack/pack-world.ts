import { cpSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../../src/base/canonical.ts';
import { TAR_END, tarChecksum, tarHead, tarPadding } from '../../../src/base/tar.ts';
import type { Contract } from '../../../src/contracts/contract.ts';
import { intent } from '../../../src/contracts/intent/index.ts';
import type { RunKind } from '../../../src/contracts/seal/index.ts';
import { finish, SEAL } from '../../../src/evidence/run-folder/finish.ts';
import { writePack } from '../../../src/evidence/pack/pack.ts';
import { entryBytes, packFile } from '../../../src/evidence/pack/pack-file.ts';
import { sealedEntry } from '../../../src/evidence/recovery/sealed-entry.ts';
import { storedFiles } from '../../../src/evidence/run-folder/sealed-files.ts';
import { runIntent } from '../../../src/verbs/index.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { type Verdict, verify } from '../../../src/verify/index.ts';
import { exampleWith, temporaryFolder } from '../../support/support.ts';
import { captureOf, finishRun, put, said, succeeded } from '../script/script-world.ts';

/** The run id in the script examples. The folder has the same name. */
export const SCRIPT_RUN = 'script_20260403_101500_4f1c9a7be210';

const OUTPUT = { 'output/a.txt': 'aaa', 'output/ä/b.bin': '\u0000\u0001bb', 'output/empty': '' };

/** A finished script run folder, with all kinds of file names and two internal files. */
export async function scriptFolder(
  files: Record<string, string> = OUTPUT,
  root = temporaryFolder(),
  name = SCRIPT_RUN,
): Promise<string> {
  const folder = path.join(root, 'runs', 'script', name);
  for (const [file, content] of Object.entries(files)) put(folder, file, content);
  put(folder, 'evidence/internal/result.raw', '{"contract_version":1}');
  const remarks = [{ level: 'note', code: 'x', detail: 'y' } as const];
  const output = Object.fromEntries(Object.entries(files).filter(([file]) => file.startsWith('output/')));
  await finishRun(folder, captureOf({ how: 'exited', code: 0 }, said('hello\n'), said('€')), {
    ...succeeded(output),
    remarks,
  });
  return folder;
}

/** A real intent run: planned, executed in a sandbox and sealed. */
export async function realIntent(cwd: string): Promise<string> {
  const file = path.join(cwd, 'intent.json');
  writeFileSync(file, canonicalize(intent.example));
  try {
    return (await runIntent({ intent: file, mode: 'execute-sandbox', policy: 'strict', cwd })).folder;
  } finally {
    await closeLauncher();
  }
}

/** Replaces some values of a document in a folder, by their paths. */
export function changedIn(folder: string, file: string, changes: Record<string, unknown>): object {
  const example: unknown = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  return exampleWith({ example } as Contract, changes) as object;
}

/** A copy of a folder, changed and sealed again. Anyone can make a new seal, even without a key. */
export async function resealed(folder: string, changes: Record<string, string | object | null>): Promise<string> {
  const copy = path.join(temporaryFolder(), 'runs', 'intent', path.basename(folder));
  cpSync(folder, copy, { recursive: true });
  rmSync(path.join(copy, SEAL));
  for (const [file, content] of Object.entries(changes)) {
    if (content === null) rmSync(path.join(copy, file));
    else put(copy, file, typeof content === 'string' ? content : canonicalize(content));
  }
  const sealedAtMs = Date.parse('2026-04-03T10:15:07.412Z');
  const runId = path.basename(folder);
  await finish(copy, {
    runId,
    kind: 'intent',
    documents: [],
    stored: storedFiles([]),
    passing: [],
    sealedAtMs,
    signer: undefined,
  });
  return copy;
}

/** A folder of these files, with a seal. */
export async function sealedFolder(
  kind: RunKind,
  runId: string,
  files: Record<string, string | object | null>,
  prepare: (folder: string) => void = () => undefined,
): Promise<string> {
  const folder = path.join(temporaryFolder(), 'runs', kind, runId);
  mkdirSync(path.join(folder, 'evidence'), { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    if (content !== null) put(folder, file, typeof content === 'string' ? content : canonicalize(content));
  }
  prepare(folder);
  const sealedAtMs = Date.parse('2026-04-03T10:15:07.412Z');
  await finish(folder, {
    runId,
    kind,
    documents: [],
    stored: storedFiles([]),
    passing: [],
    sealedAtMs,
    signer: undefined,
  });
  return folder;
}

/** The ledger line of a sealed folder, with some values replaced. */
export function lineOf(folder: string, changes: object = {}): string {
  const line = {
    schema_version: 'ledger-line.v1',
    sequence: 1,
    previous_sha256: null,
    ...sealedEntry(folder),
    ...changes,
  };
  return `${canonicalize(line)}\n`;
}

/** Packs a folder without verifying it. */
export async function packOf(folder: string, ledgerLine?: string, withInternal = false): Promise<string> {
  const file = path.join(temporaryFolder(), 'a.proctor.tar');
  await writePack(folder, file, { withInternal, ledgerLine });
  return file;
}

/** The entries of an archive, to be reassembled differently. */
export type Entries = Map<string, Buffer>;

export function entriesOf(file: string): Entries {
  const pack = packFile(openSync(file, 'r'));
  try {
    return new Map([...pack.entries.keys()].map(name => [name, entryBytes(pack, name, 2 ** 30) as Buffer]));
  } finally {
    pack.close();
  }
}

/** Writes entries in the canonical form, sorted. */
export function archiveOf(entries: Entries): Buffer {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return archive(sorted.map(([name, bytes]) => entry(name, bytes)));
}

export function archive(pieces: readonly Buffer[]): Buffer {
  return Buffer.concat([...pieces, TAR_END]);
}

export function entry(name: string, bytes: Buffer | string): Buffer {
  const content = Buffer.from(bytes as string);
  return Buffer.concat([tarHead(name, content.length), content, Buffer.alloc(tarPadding(content.length))]);
}

/** A header with bytes replaced from an offset, and a corrected checksum. */
export function changedHead(head: Buffer, at: number, text: string): Buffer {
  const changed = Buffer.from(head);
  const block = changed.subarray(-512);
  block.write(text, at, 'latin1');
  block.write(tarChecksum(block), 148, 'latin1');
  return changed;
}

export function fileOf(bytes: Buffer, name = 'a.proctor.tar'): string {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, bytes);
  return file;
}

/** A pack with some entries replaced; null removes one. */
export function tampered(file: string, changes: Record<string, string | null>): string {
  const entries = entriesOf(file);
  for (const [name, content] of Object.entries(changes)) {
    if (content === null) entries.delete(name);
    else entries.set(name, Buffer.from(content));
  }
  return fileOf(archiveOf(entries));
}

export function textIn(file: string, name: string): string {
  return (entriesOf(file).get(name) ?? Buffer.alloc(0)).toString();
}

export async function verdictsOf(file: string): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for await (const verdict of verify([file])) verdicts.push(verdict);
  return verdicts;
}

/** The violations of a pack: `RULE place` for the pack itself, and `RULE` for a document in it. */
export async function brokenIn(file: string): Promise<string[]> {
  const verdicts = await verdictsOf(file);
  const parts = verdicts
    .filter(({ within }) => within !== undefined)
    .flatMap(({ violations, reason }) => violations.map(({ rule_id }) => rule_id).concat(reason ? [reason.code] : []));
  const { violations, reason } = verdicts.at(-1) as Verdict;
  const whole = violations.map(({ rule_id, path: at }) => `${rule_id} ${at}`);
  return [...new Set(parts), ...whole, ...(reason ? [reason.code] : [])];
}

export const bytesIn = (file: string): Buffer => readFileSync(file);

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash, contentHash } from '../../src/base/hash.ts';
import { finish } from '../../src/evidence/run-folder/finish.ts';
import { storedFiles } from '../../src/evidence/run-folder/sealed-files.ts';
import { temporaryFolder } from '../support/support.ts';

export type Json = Record<string, unknown>;

export const REPLIES = 'assets/replies.ndjson';
const REQUEST = 'evidence/request.json';

/** A copy of a run that someone edited, listed in its manifest and sealed again. */
export async function forgedRun(folder: string, edit: (copy: RunCopy) => void): Promise<string> {
  const copy = new RunCopy(folder);
  for (const name of ['evidence/seal.json', 'evaluation.json', 'evaluation.seal.json']) copy.remove(name);
  edit(copy);
  copy.change('assets/manifest.json', manifest => {
    const known = (manifest['items'] as Json[]).filter(({ href }) => existsSync(path.join(copy.folder, String(href))));
    const listed = new Set(known.map(({ href }) => href));
    const added = readdirSync(path.join(copy.folder, 'assets')).map(name => `assets/${name}`);
    const extra = added.filter(href => href !== 'assets/manifest.json' && !listed.has(href));
    const notes = extra.map(href => ({ asset_id: href, href, kind: 'other', case_id: null, side: null }));
    manifest['items'] = [...known, ...notes].map(item => Object.assign(item, copy.facts(String(item['href']))));
  });
  await finish(copy.folder, {
    runId: String(copy.read(REQUEST)['run_id']),
    kind: 'suite',
    documents: [],
    stored: storedFiles([]),
    passing: [],
    sealedAtMs: Date.parse('2026-01-06T12:00:10.000Z'),
    signer: undefined,
  });
  return copy.folder;
}

export class RunCopy {
  readonly folder: string;

  constructor(from: string) {
    this.folder = path.join(temporaryFolder(), path.basename(from));
    cpSync(from, this.folder, { recursive: true });
  }

  read(file: string): Json {
    return JSON.parse(readFileSync(path.join(this.folder, file), 'utf8')) as Json;
  }

  change(file: string, change: (document: Json) => void): void {
    const document = this.read(file);
    change(document);
    writeFileSync(path.join(this.folder, file), canonicalize(JSON.parse(JSON.stringify(document)) as Json));
  }

  attempt(file: string, over: Json): void {
    this.change(file, document => {
      const attempts = document['attempts'] as Json[];
      Object.assign(attempts.at(-1) as Json, over);
    });
  }

  replies(edit: (reply: Json) => Json | undefined): void {
    const file = path.join(this.folder, REPLIES);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const edited = lines.flatMap(line => edit(JSON.parse(line) as Json) ?? []);
    if (edited.length === 0) this.remove(REPLIES);
    else writeFileSync(file, edited.map(line => `${JSON.stringify(line)}\n`).join(''));
  }

  /** Changes the target, and states its new hash. */
  target(change: (target: Json) => void): void {
    this.change(REQUEST, request => {
      change(request['target'] as Json);
      request['target_sha256'] = contentHash(request['target']);
    });
  }

  reply(edit: (mapping: Json) => void): void {
    this.target(target => edit((target['declaration'] as { reply: Json }).reply));
  }

  write(file: string, content: string): void {
    writeFileSync(path.join(this.folder, file), content);
  }

  remove(file: string): void {
    rmSync(path.join(this.folder, file), { force: true });
  }

  facts(file: string): Json {
    const at = path.join(this.folder, file);
    return { size_bytes: statSync(at).size, sha256: bytesHash(readFileSync(at)) };
  }
}

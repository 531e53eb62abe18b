/** `npm run bench:secrets`: how much Proctor masks in generated leaks and in clean text, and how fast. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import { Masker, maskingOf } from '../src/base/masker.ts';
import { keptBytes } from '../src/execute/model/recorded-body.ts';
import { chanceFrom, credentials, type Leak, leaks, textOf } from './leaks.ts';
import { printRows, type Row } from './rows.ts';

const SEED = 20_260_106;
const COUNT = 500;
const CLEAN_BYTES = 12_000_000;
const FILE_BYTES_MAX = 300_000;
const ORACLE_BYTES = 400_000;
const CHUNK_BYTES = 64 * 1024;
/** A secret leaks if this many consecutive characters of it remain. */
const TELLING = 8;

/** @secretlint findings that Proctor does not mask, with the reason. */
const REASONS: ReadonlyMap<string, string> = new Map([['AWSAccountID', 'an account number grants no access']]);

const clean = cleanText();
const rows: Row[] = [declared(), wellKnown(), await oracle(), falsePositives(), ...speed()];
printRows('secrets', rows);

/** Proctor must mask every declared secret, in every encoding. */
function declared(): Row {
  const all = leaks(SEED, COUNT);
  const missed = all.filter(leak => isLeft(leak));
  const byEncoding = new Map<string, number>();
  for (const { encoding } of missed) byEncoding.set(encoding, (byEncoding.get(encoding) ?? 0) + 1);
  const detail = [...byEncoding].map(([encoding, count]) => `${encoding}: ${count} missed`).join('; ');
  const rate = 1 - missed.length / all.length;
  const encodings = new Set(all.map(({ encoding }) => encoding)).size;
  return {
    what: `declared secrets masked, of ${all.length} leaks in ${encodings} encodings`,
    ratio: rate,
    bound: '= 1',
    holds: missed.length === 0,
    detail: detail || 'none missed',
  };
}

function isLeft({ secret, pieces, core, isEvents }: Leak): boolean {
  const masking = maskingOf([secret]);
  if (isEvents) {
    const { body } = keptBytes(Buffer.from(pieces.join('')), masking);
    const texts = [...String(body?.value).matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, text]) =>
      JSON.parse(text ?? ''),
    );
    return tells(texts.join(''), core);
  }
  const masker = new Masker(masking);
  const isLatin = pieces.length > 1;
  const chunks = pieces.map(piece => masker.take(Buffer.from(piece, isLatin ? 'latin1' : 'utf8')));
  return tells(
    Buffer.concat([...chunks, masker.end()])
      .toString()
      .replaceAll('\n', ''),
    core,
  );
}

function tells(text: string, core: string): boolean {
  const left = text.split('[masked]');
  for (let at = 0; at + TELLING <= core.length; at++) {
    const part = core.slice(at, at + TELLING);
    if (left.some(piece => piece.includes(part))) return true;
  }
  return false;
}

/** Masks well-known credentials in a log, in JSON, after an escape, and in small chunks. */
function wellKnown(): Row {
  const missed: string[] = [];
  let total = 0;
  for (let round = 0; round < 10; round++) {
    for (const { kind, text, core } of credentials(SEED + round)) {
      const contexts = [`said ${text} today\n`, JSON.stringify({ said: `first\n${text}` }), `"${text}"`];
      for (const context of contexts) {
        total++;
        const masker = new Masker(maskingOf([]));
        const bytes = Buffer.from(context);
        const chunks: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += 11) chunks.push(masker.take(bytes.subarray(at, at + 11)));
        const safe = Buffer.concat([...chunks, masker.end()]).toString();
        if (masker.kinds[kind] === undefined || tells(safe, core)) missed.push(kind);
      }
    }
  }
  return {
    what: `well-known credentials masked, of ${total}`,
    ratio: 1 - missed.length / total,
    bound: '= 1',
    holds: missed.length === 0,
    detail: missed.length === 0 ? 'none missed' : [...new Set(missed)].join(', '),
  };
}

/** Proctor must mask everything that @secretlint finds, apart from REASONS. */
async function oracle(): Promise<Row> {
  const texts = Array.from({ length: 10 }, (_, round) =>
    credentials(SEED + 100 + round)
      .map(({ text }) => text)
      .join('\n\n'),
  );
  for (let at = 0; at < clean.length; at += ORACLE_BYTES) texts.push(clean.toString('utf8', at, at + ORACLE_BYTES));
  const missed: string[] = [];
  let found = 0;
  for (const content of texts) {
    const { messages } = await lintSource({
      source: { content, filePath: 'said.txt', ext: '.txt', contentType: 'text' },
      options: { config: { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }] } },
    });
    const spans = new Masker(maskingOf([])).spans(Buffer.from(content));
    for (const { messageId, ruleId, range } of messages) {
      if (REASONS.has(messageId ?? '')) continue;
      found++;
      const from = Buffer.byteLength(content.slice(0, range[0]));
      const to = Buffer.byteLength(content.slice(0, range[1]));
      if (!spans.some(span => span.from < to && span.to > from))
        missed.push(`${ruleId} ${content.slice(...range).slice(0, 40)}`);
    }
  }
  return {
    what: `findings of @secretlint that are masked, of ${found}`,
    ratio: found === 0 ? 0 : 1 - missed.length / found,
    bound: '= 1',
    holds: found > 0 && missed.length === 0,
    detail:
      missed.slice(0, 5).join('; ') || `not counted: ${[...REASONS].map(([id, why]) => `${id} (${why})`).join(', ')}`,
  };
}

/** Clean text: source files, licences and JSON files in the installed packages. */
function falsePositives(): Row {
  const masker = new Masker(maskingOf([]));
  masker.whole(clean);
  const perMegabyte = masker.masked / (clean.length / 1e6);
  return {
    what: `ranges masked per MB of clean text, over ${(clean.length / 1e6).toFixed(0)} MB`,
    ratio: perMegabyte,
    bound: '≤ 5',
    holds: perMegabyte <= 5,
    detail: Object.entries(masker.kinds)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', '),
  };
}

/** Compares masking with one search over the same bytes. Search speed depends on the value, so this tries two. */
function speed(): Row[] {
  const chance = chanceFrom(SEED);
  const secrets = [12, 20, 28].map(length => textOf(chance, 'abcdefghijklmnopqrstuvwxyz0123456789', length));
  const [short = '', , long = ''] = secrets;
  const masking = maskingOf(secrets);
  const times = cpuTimes(
    {
      short: () => void clean.indexOf(short),
      long: () => void clean.indexOf(long),
      credentials: () => streamed(new Masker(maskingOf([]))),
      both: () => streamed(new Masker(masking)),
    },
    15,
  );
  return [
    rateRow('clean text, credentials ÷ indexOf of 12 letters', times.credentials, times.short),
    rateRow('clean text, credentials ÷ indexOf of 28 letters', times.credentials, times.long),
    rateRow('clean text, credentials and 3 secrets ÷ indexOf of 12 letters', times.both, times.short),
    rateRow('clean text, credentials and 3 secrets ÷ indexOf of 28 letters', times.both, times.long),
  ];
}

function rateRow(what: string, masked: number, searched: number): Row {
  return {
    what,
    ratio: searched / masked,
    bound: '≥ 0.25',
    holds: searched / masked >= 0.25,
    detail: `${rate(masked)}, one indexOf ${rate(searched)}`,
  };
}

function rate(ms: number): string {
  return `${(clean.length / 1e6 / ms).toFixed(2)} GB/s`;
}

/** Returns the minimum CPU time of each function, in milliseconds. The minimum is least affected by other load. */
function cpuTimes<Name extends string>(ways: Readonly<Record<Name, () => void>>, rounds: number): Record<Name, number> {
  const names = Object.keys(ways) as Name[];
  const least = Object.fromEntries(names.map(name => [name, Number.POSITIVE_INFINITY])) as Record<Name, number>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const before = process.cpuUsage();
      ways[name]();
      const { user, system } = process.cpuUsage(before);
      least[name] = Math.min(least[name], (user + system) / 1_000);
    }
  }
  return least;
}

function streamed(masker: Masker): void {
  for (let at = 0; at < clean.length; at += CHUNK_BYTES) masker.pieces(clean.subarray(at, at + CHUNK_BYTES));
  masker.end();
}

function cleanText(): Buffer {
  const parts: Buffer[] = [];
  let room = CLEAN_BYTES;
  for (const file of filesBelow(path.join(process.cwd(), 'node_modules'))) {
    if (room <= 0) break;
    const bytes = readFileSync(file);
    parts.push(bytes);
    room -= bytes.length;
  }
  return Buffer.concat(parts);
}

/** Yields files in the same order on every machine. Skips @secretlint, which contains example secrets. */
function* filesBelow(folder: string): Generator<string> {
  for (const { name, ...entry } of readdirSync(folder, { withFileTypes: true })
    .map(entry => ({
      name: entry.name,
      isFolder: entry.isDirectory(),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (name.startsWith('.') || name === '@secretlint') continue;
    const file = path.join(folder, name);
    if (entry.isFolder) yield* filesBelow(file);
    else if (/\.(?:[cm]?js|ts|md|json|txt)$|^LICEN[CS]E/.test(name) && statSync(file).size < FILE_BYTES_MAX) yield file;
  }
}

import { closeSync, fstatSync } from 'node:fs';
import path from 'node:path';
import { tooLarge } from '../base/json.ts';
import { BYTES_MAX, type Examined, examine, type Options } from './examine.ts';
import { linesOf } from './lines.ts';
import {
  changed,
  type Failure,
  hasChanged,
  openRegular,
  readStandardInput,
  readWhole,
  unreadableBecause,
} from './source.ts';
import { Unique } from './unique.ts';
import { EXIT, type Outcome, refused, unreadable, type Verdict } from './verdict.ts';

/** One document in a file. */
export async function verifyFile(file: string, options: Options): Promise<Verdict> {
  const source = readWhole(file, options.bytesMax ?? BYTES_MAX);
  if (!source.ok) return notRead(file, source);
  const origin = { input: file, fileName: path.basename(file), folder: path.dirname(file) };
  return (await examine(source.bytes, origin, options)).verdict;
}

/** A record per line, in flat memory however long the file is. */
export async function* verifyLines(file: string, options: Options): AsyncGenerator<Verdict> {
  yield* summed(file, examineLines(file, options));
}

/** The records of a file, or the one reason why there are none or no more. */
export async function* examineLines(file: string, options: Options): AsyncGenerator<Examined> {
  const opened = openRegular(file);
  if (!opened.ok) {
    yield { verdict: notRead(file, opened) };
    return;
  }
  const { fd, stat } = opened;
  try {
    yield* examineStream(fd, file, options);
    if (hasChanged(stat, fstatSync(fd))) yield { verdict: notRead(file, changed) };
  } finally {
    closeSync(fd);
  }
}

export async function* verifyStandardInput(options: Options): AsyncGenerator<Verdict> {
  if (options.ndjson) {
    yield* summed('-', examineStream(0, '-', options));
    return;
  }
  const source = readStandardInput(options.bytesMax ?? BYTES_MAX);
  if (source.ok) yield (await examine(source.bytes, { input: '-' }, options)).verdict;
  else yield notRead('-', source);
}

export function notRead(input: string, { outcome, code, message }: Failure): Verdict {
  return outcome === 'refused' ? refused(input, code, message) : unreadable(input, code, message);
}

async function* examineStream(fd: number, input: string, options: Options): AsyncGenerator<Examined> {
  const cap = options.bytesMax ?? BYTES_MAX;
  try {
    for (const { number, bytes } of linesOf(fd, cap)) {
      const line = `${input}:${number}`;
      yield bytes
        ? await examine(bytes, { input: line }, options)
        : { verdict: refused(line, 'too_large', tooLarge(cap)) };
    }
  } catch (error) {
    yield { verdict: notRead(input, unreadableBecause(error)) };
  }
}

/** The verdicts of all records, then one for the whole. */
async function* summed(input: string, records: AsyncIterable<Examined>): AsyncGenerator<Verdict> {
  const unique = new Unique();
  const notChecked = new Set<string>();
  const documents: Record<string, number> = {};
  let worst: Outcome = 'valid';
  for await (const record of records) {
    const verdict = unique.judge(record);
    if (verdict.input === input) {
      yield verdict;
      return;
    }
    const name = verdict.contract ?? '-';
    documents[name] = (documents[name] ?? 0) + 1;
    worst = worse(worst, verdict.outcome);
    for (const item of verdict.not_checked) notChecked.add(item);
    yield { ...verdict, within: input };
  }
  if (unique.isFull) notChecked.add(unique.limit);
  if (Object.keys(documents).length === 0) yield refused(input, 'empty', 'It holds no record.');
  else yield { input, outcome: worst, documents, violations: [], advice: [], not_checked: [...notChecked] };
}

export function worse(a: Outcome, b: Outcome): Outcome {
  return EXIT[a] >= EXIT[b] ? a : b;
}

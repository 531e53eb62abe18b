import { closeSync } from 'node:fs';
import path from 'node:path';
import { tooLarge } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import type { FindingCollector } from '../contracts/check.ts';
import { LedgerChain, isLedger } from './chain.ts';
import { capOf, type Examined, examine, readProfile } from './examine.ts';
import type { Options } from './options.ts';
import { collectFindings } from './inspector.ts';
import { fileChange, type Failure, openForReading, readStandardInput, readWhole, unreadableBecause } from './source.ts';
import { Sum } from './sum.ts';
import { refused, unreadable, type Verdict } from './verdict.ts';

export async function verifyFile(file: string, options: Options): Promise<Verdict> {
  const source = readWhole(openForReading(file), await capOf(options, path.basename(file)));
  if (!source.ok) return notRead(file, source);
  const profile = (): unknown => readProfile(path.dirname(file));
  const origin = { input: file, fileName: path.basename(file), profile };
  return (await examine(source.bytes, origin, options)).verdict;
}

/** Judges one record per line, in constant memory. Yields verdicts in batches; the last one covers the whole file. */
export async function* verifyLines(file: string, options: Options): AsyncGenerator<readonly Verdict[]> {
  const opened = openForReading(file);
  if (!opened.ok) {
    yield [notRead(file, opened)];
    return;
  }
  try {
    yield* verifyStream(opened.fd, file, options, () => fileChange(opened, isLedger(file)));
  } finally {
    closeSync(opened.fd);
  }
}

export async function* verifyStandardInput(options: Options): AsyncGenerator<readonly Verdict[]> {
  if (options.ndjson) {
    yield* verifyStream(0, '-', options, () => undefined);
    return;
  }
  const source = readStandardInput(await capOf(options));
  yield [source.ok ? (await examine(source.bytes, { input: '-' }, options)).verdict : notRead('-', source)];
}

/** Yields one document per line. Returns the failure if the stream cannot be read to its end. */
export function* recordsOf(
  fd: number,
  input: string,
  options: Options,
  cap: number,
  within = input,
  { from, to }: { readonly from?: number; readonly to?: number } = {},
): Generator<Examined | Promise<Examined>, Failure | undefined> {
  try {
    const chain = new LedgerChain(options.as === undefined && isLedger(input));
    for (const line of linesOf(fd, cap, from, to)) {
      const origin = { input: `${input}:${line.number}`, within };
      const examined = line.bytes
        ? examine(line.bytes, origin, options)
        : { verdict: refused(origin.input, 'too_large', tooLarge(cap), within) };
      yield examined instanceof Promise ? examined.then(one => chain.judge(one, line)) : chain.judge(examined, line);
    }
    return undefined;
  } catch (error) {
    return unreadableBecause(error);
  }
}

async function* verifyStream(
  fd: number,
  input: string,
  options: Options,
  changeAtEnd: () => Failure | undefined,
): AsyncGenerator<readonly Verdict[]> {
  const sum = new Sum(input);
  const { found, report } = collectFindings();
  // Most streams are not ledgers and need not load this code.
  const ledger = isLedger(input) ? await import('./ledger.ts') : undefined;
  const runs = ledger && new ledger.LedgerRuns(path.dirname(input), '', report);
  const records = recordsOf(fd, input, options, await capOf(options));
  let batch: Verdict[] = [];
  let next = records.next();
  for (; !next.done; next = records.next()) {
    const examined = next.value instanceof Promise ? await next.value : next.value;
    runs?.take(examined.value, path.basename(examined.verdict.input));
    batch.push(sum.add(examined));
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  const failure = next.value ?? changeAtEnd();
  if (failure) batch.push(notRead(input, failure));
  else if (sum.isEmpty) batch.push(refused(input, 'empty', EMPTY));
  else {
    runs?.end();
    batch.push(foundIn(sum, found));
  }
  yield batch;
}

/** The verdict on the whole stream. */
function foundIn(sum: Sum, found: FindingCollector): Verdict {
  const { violations, advice, omitted } = found.findings();
  const verdict = sum.verdict(violations, advice);
  return omitted > 0 ? { ...verdict, omitted } : verdict;
}

/** Larger batches outlive a young-generation collection, and V8 then doubles its heap for young objects. */
const BATCH = 8;

export const EMPTY = 'The file contains no records.';

export function notRead(input: string, { outcome, code, message }: Failure, within?: string): Verdict {
  return outcome === 'refused' ? refused(input, code, message, within) : unreadable(input, code, message, within);
}

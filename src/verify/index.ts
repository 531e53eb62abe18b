import { statSync } from 'node:fs';
import path from 'node:path';
import type { Violation } from '../contracts/check.ts';
import { runner } from '../contracts/runner/index.ts';
import { judgeValue } from './document.ts';
import type { Options } from './options.ts';
import { verifyFile, verifyLines, verifyStandardInput } from './file.ts';
import { verifyFolder } from './folder.ts';
import { isPack, verifyPack } from './pack.ts';
import { trustOf } from './signatures.ts';
import { ONLY_FOLDERS, verifySigned } from './signed-file.ts';
import { EXIT, type Outcome, refused, type Verdict } from './verdict.ts';

export { EXIT, type Options, type Outcome, type Verdict, type Violation };

/**
 * Verifies files, folders, packs, NDJSON and standard input (`-`), one after another. Every file, and every document
 * in a folder or pack, gets a verdict. NDJSON gets one verdict per line and one for the whole.
 */
export async function* verify(inputs: string | readonly string[], options: Options = {}): AsyncGenerator<Verdict> {
  for await (const verdicts of verifyInBatches(inputs, options)) yield* verdicts;
}

/** Yields arrays of verdicts, for long streams: a promise per record takes longer than judging the record. */
export async function* verifyInBatches(
  inputs: string | readonly string[],
  options: Options = {},
): AsyncGenerator<readonly Verdict[]> {
  const trust = trustOf(options);
  let hasReadStandardInput = false;
  for (const input of typeof inputs === 'string' ? [inputs] : inputs) {
    if (trust && !isFolder(input) && !isPack(input)) {
      yield [input === '-' ? refused(input, 'usage', ONLY_FOLDERS) : await verifySigned(input, options, trust)];
    } else if (input === '-' && hasReadStandardInput) {
      yield [refused('-', 'usage', 'Standard input can be read only once.')];
    } else if (input === '-') {
      hasReadStandardInput = true;
      yield* verifyStandardInput(options);
    } else if (isFolder(input)) {
      yield* verifyFolder(input, options);
    } else if (isPack(input)) {
      yield* verifyPack(input, options);
    } else if (options.ndjson || LINES.has(path.extname(input).toLowerCase())) {
      yield* verifyLines(input, options);
    } else {
      yield [await verifyFile(input, options)];
    }
  }
}

/** Judges a value against the Runner Specification. Never throws. */
export function verifyRunner(value: unknown): RunnerVerificationResult {
  const { valid, violations, hash } = judgeValue(runner, value, { strict: false, internal: false });
  return hash === undefined ? { valid, violations } : { valid, violations, runner_hash: hash };
}

export interface RunnerVerificationResult {
  readonly valid: boolean;
  readonly violations: readonly Violation[];
  /** Present only if valid. */
  readonly runner_hash?: string;
}

const LINES = new Set(['.ndjson', '.jsonl']);

function isFolder(input: string): boolean {
  try {
    return statSync(input).isDirectory();
  } catch {
    return false;
  }
}

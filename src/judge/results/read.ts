import { readJson } from '../../base/json.ts';
import { isObject } from '../../contracts/kind.ts';
import { plainText } from '../../run/written/plain-text.ts';
import { ctrfRows } from '../../run/results/ctrf.ts';
import { junitRows } from '../../run/results/junit.ts';
import { type ResultRow, ResultFault } from '../../run/results/row.ts';
import { csvRows, jsonLinesRows } from './table.ts';

export type ResultFormat = 'csv' | 'jsonl' | 'junit' | 'ctrf';

export interface ReadResults {
  readonly format: ResultFormat;
  /** Lazy: an error further down is thrown when it is reached. */
  readonly rows: Iterable<ResultRow>;
}

/** Reads results from any tool. Detects the format by content, because tools use arbitrary file names. */
export function readResults(bytes: Buffer): ReadResults {
  const text = plainText(bytes);
  if (typeof text !== 'string') throw new ResultFault(text.line, text.says);
  const start = text.trimStart();
  if (start.startsWith('<')) return { format: 'junit', rows: junitRows(text.startsWith('<') ? text : start) };
  if (start.startsWith('[')) throw new ResultFault(1, 'The file is a JSON list; write one object per line instead');
  if (!start.startsWith('{')) return { format: 'csv', rows: csvRows(text) };
  const [first = ''] = start.split('\n', 1);
  const line = readJson(Buffer.from(first), { bytesMax: FILE_BYTES_MAX });
  const isLines = line.ok && !(isObject(line.value) && 'results' in line.value);
  if (isLines) return { format: 'jsonl', rows: jsonLinesRows(text) };
  const whole = readJson(Buffer.from(start), { bytesMax: FILE_BYTES_MAX });
  if (!whole.ok) throw new ResultFault(undefined, whole.refusal.message.replace(/\.$/, ''));
  return { format: 'ctrf', rows: ctrfRows(whole.value) };
}

export const FILE_BYTES_MAX = 64 * 1024 * 1024;

import { readJson } from '../../base/json.ts';
import { linesOf } from '../../base/lines.ts';
import { MIB } from '../../contracts/contract.ts';
import { isObject } from '../../contracts/kind.ts';
import { cases, suiteCase } from '../../contracts/suite/index.ts';
import { JsonPlaces } from '../written/json-places.ts';
import type { WrittenWrong } from '../written/wrong.ts';
import {
  bytesIn,
  type CaseSource,
  defaultsIn,
  envelopeWrongs,
  jsonBytesMost,
  notCases,
  type Written,
} from './case-source.ts';

/** Reads one JSON document: a list of cases, or an object with the key `cases`. */
export function jsonSource(fd: number, bytes: number): CaseSource {
  const reading = readJson(bytesIn(fd, bytes), { bytesMax: cases.bytesMax });
  if (!reading.ok) {
    const written = reading.refusal.code === 'empty' ? [] : [refusalAt(reading.refusal.message)];
    return { written, lineOf: () => 1 };
  }
  const { value, text } = reading;
  const places = new JsonPlaces(text);
  return {
    written: casesOfDocument(value, jsonBytesMost(bytes), place => places.lineOf(place)),
    lineOf: (index, place) => places.lineInCase(index, place),
  };
}

function* casesOfDocument(value: unknown, bytesMost: number, lineOf: (place: string) => number): Generator<Written> {
  const envelope = Array.isArray(value) ? { cases: value } : value;
  if (!isObject(envelope)) {
    yield notCases(value);
    return;
  }
  const wrongs = envelopeWrongs(envelope);
  for (const { place, says } of wrongs) yield { line: lineOf(place), says };
  const { cases: list, suite } = envelope;
  const defaults = wrongs.length === 0 ? defaultsIn(envelope, lineOf) : undefined;
  if (!Array.isArray(list)) return;
  for (const [index, one] of list.entries()) {
    yield {
      index,
      value: one as unknown,
      suite: typeof suite === 'string' ? suite : undefined,
      defaults,
      jsonBytesMost: bytesMost,
    };
  }
}

/** Reads one case per line and keeps only the current line in memory. */
export function jsonLinesSource(fd: number): CaseSource {
  const lines: number[] = [];
  return { written: casesOfLines(fd, lines), lineOf: index => lines[index] ?? 1 };
}

/** Records the line of each case, because blank lines are allowed between cases. */
function* casesOfLines(fd: number, lines: number[]): Generator<Written> {
  for (const { number, bytes } of linesOf(fd, suiteCase.bytesMax)) {
    if (!bytes) {
      lines.push(number);
      yield { line: number, says: `The line is longer than ${suiteCase.bytesMax / MIB} MiB, the limit for a case` };
      continue;
    }
    const reading = readJson(bytes, LIMITS);
    if (reading.ok) {
      yield { index: lines.push(number) - 1, value: reading.value, jsonBytesMost: jsonBytesMost(bytes.length) };
    } else if (reading.refusal.code !== 'empty') {
      lines.push(number);
      yield { line: number, says: reading.refusal.message.replace(/\.$/, '') };
    }
  }
}

const LIMITS = { bytesMax: suiteCase.bytesMax };

/** Moves the position from the end of the message to its front. */
function refusalAt(message: string): WrittenWrong {
  const [, words = message, line, byte] = /^(.*) \((?:line (\d+), )?(byte \d+)\)\.$/.exec(message) ?? [];
  if (byte === undefined) return { says: message.replace(/\.$/, '') };
  return { line: Number(line ?? 1), says: `${words} (${byte})` };
}

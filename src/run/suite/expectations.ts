import { clip } from '../../base/clip.ts';
import { unsafePath } from '../../base/path.ts';
import { PATTERN_SIZE_MAX, patternSize } from '../../base/pattern-size.ts';
import { placeOf } from '../../base/place.ts';
import { printable } from '../../base/printable.ts';
import type { Expected } from '../../contracts/suite/index.ts';
import { re2Library } from './libraries.ts';
import { type Dialect, dialectOf, grammarFault } from './schema-dialect.ts';

/**
 * Finds expectations that can never be judged, such as invalid patterns and schemas. Skips keys without a valid shape.
 */
export function* expectationFaults(
  expected: Expected,
  hasShape: (key: keyof Expected) => boolean,
): Generator<{ readonly place: string; readonly says: string }> {
  const tried = TRIED.filter(key => expected[key] !== undefined && hasShape(key));
  if (tried.length === 0) return;
  const sound: Expected = Object.fromEntries(tried.map(key => [key, expected[key]]));
  for (const { place, text } of patternsIn(sound)) {
    const says = remembered(patternTroubles, text, patternTrouble);
    if (says !== undefined) yield { place, says };
  }
  if (sound.json_schema) {
    const says = remembered(schemaTroubles, JSON.stringify(sound.json_schema), schemaTrouble);
    if (says !== undefined) yield { place: 'expected.json_schema', says };
  }
  const says = sound.script && unsafePath(sound.script.file);
  if (says !== undefined) {
    yield { place: 'expected.script.file', says: `must be inside the folder of the case file, but ${says}` };
  }
}

const TRIED = ['regex', 'not_regex', 'json_path', 'json_schema', 'script'] as const;

function patternsIn({ regex, not_regex, json_path = [] }: Expected): { place: string; text: string }[] {
  return [
    ...textsAt('expected.regex', regex),
    ...textsAt('expected.not_regex', not_regex),
    ...json_path.flatMap((one, index) => textsAt(`${placeOf('expected.json_path', index)}.regex`, one.regex)),
  ];
}

function textsAt(place: string, texts: string | readonly string[] | undefined): { place: string; text: string }[] {
  if (texts === undefined) return [];
  if (typeof texts === 'string') return [{ place, text: texts }];
  return texts.map((text, index) => ({ place: placeOf(place, index), text }));
}

/** Returns why a pattern cannot be matched in linear time. */
function patternTrouble(pattern: string): string | undefined {
  if (pattern.length > PATTERN_LENGTH_MAX) {
    return `is longer than ${PATTERN_LENGTH_MAX.toLocaleString('en-US')} characters, the limit for a regular expression`;
  }
  if (patternSize(pattern) > PATTERN_SIZE_MAX) {
    return `compiles to more than ${PATTERN_SIZE_MAX.toLocaleString('en-US')} instructions: use smaller counts, or split it`;
  }
  const { RE2JS, RE2JSSyntaxException } = re2Library();
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    const reason = error instanceof RE2JSSyntaxException ? error.getDescription() : 'it is too large';
    return `is not a valid RE2 regular expression (${shown(reason)})`;
  }
}

/** The time to match also grows with the pattern. */
const PATTERN_LENGTH_MAX = 10_000;

/** Returns why a schema cannot be used. */
function schemaTrouble(text: string): string | undefined {
  const schema = JSON.parse(text) as Record<string, unknown>;
  const dialect = dialectOf(schema);
  if (!dialect) return 'must use JSON Schema 2020-12 or draft-07';
  if (schema.$async !== undefined) return 'uses $async, which is not supported';
  try {
    const fault = grammarFault(schema, dialect);
    if (fault !== undefined) return unusable(dialect, fault);
    // A new instance per schema, so that the $id of one case cannot affect another.
    dialect.ajv({ ...LENIENT, code: { regExp } }).compile(schema);
    return undefined;
  } catch (error) {
    return unusable(dialect, error instanceof Error ? error.message : 'it is too large');
  }
}

const LENIENT = { strict: false, logger: false, meta: false, validateSchema: false } as const;

/** Only compiles patterns. The judge matches them. */
const regExp = Object.assign(
  (pattern: string) => {
    const says = patternTrouble(pattern);
    if (says !== undefined) throw new Error(`one of its patterns ${says}`);
    return { test: () => false };
  },
  { code: 'RE2' },
);

function unusable({ name }: Dialect, reason: string): string {
  return `is not a usable ${name} JSON Schema (${shown(reason)})`;
}

function shown(reason: string): string {
  return printable(clip(reason, 200).text);
}

/** Suites repeat patterns and schemas, and compiling is the slowest part of reading a case. */
function remembered(
  troubles: Map<string, string | undefined>,
  text: string,
  troubleOf: (text: string) => string | undefined,
): string | undefined {
  if (troubles.has(text)) return troubles.get(text);
  const trouble = troubleOf(text);
  if (troubles.size >= REMEMBERED_MAX) troubles.clear();
  if (text.length <= REMEMBERED_LENGTH_MAX) troubles.set(text, trouble);
  return trouble;
}

const REMEMBERED_MAX = 1_000;
const REMEMBERED_LENGTH_MAX = 16_384;
const patternTroubles = new Map<string, string | undefined>();
const schemaTroubles = new Map<string, string | undefined>();

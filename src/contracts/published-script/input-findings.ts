import { isPrintable } from '../../base/printable.ts';
import { type Finding, must } from '../rule.ts';
import { writtenBytes } from './limits.ts';
import { DAY, type ScriptInput } from './shape.ts';

/** What is wrong with the inputs of a published script, besides their shape. */
export function* inputFindings(inputs: readonly ScriptInput[]): Generator<Finding> {
  const names = new Set<string>();
  for (const [index, input] of inputs.entries()) {
    const at = `inputs[${index}]`;
    if (names.has(input.name)) yield must(`${at}.name`, 'is a duplicate');
    names.add(input.name);
    if (!isPrintable(input.label)) yield must(`${at}.label`, INVISIBLE);
    if (!isPrintable((input.help ?? '').replace(/[\n\t]/g, ' '))) yield must(`${at}.help`, INVISIBLE);
    yield* limitFindingsOf(input, at);
  }
}

const INVISIBLE = 'contains an invisible or bidirectional control character';

/** The length of a text without `max_length`. */
export const TEXT_LENGTH = 1_000;
const TEXT_LENGTH_MAX = 100_000;

/** The size of an uploaded file without `max_bytes`. */
export const UPLOAD_BYTES = 100 * 1024 ** 2;
export const UPLOAD_BYTES_MAX = 256 * 1024 ** 2;

function* limitFindingsOf(input: ScriptInput, at: string): Generator<Finding> {
  switch (input.kind) {
    case 'text': {
      const { max_length: most = TEXT_LENGTH, default: usual = '' } = input;
      if (most > TEXT_LENGTH_MAX) yield must(`${at}.max_length`, 'must be at most 100,000');
      if (usual.length > most) yield must(`${at}.default`, 'is longer than max_length');
      return;
    }
    case 'number': {
      const { min = -Infinity, max = Infinity, default: usual } = input;
      if (min > max) yield must(`${at}.min`, 'is above max');
      if (usual !== undefined && (usual < min || usual > max)) yield must(`${at}.default`, 'is outside min and max');
      return;
    }
    case 'choice': {
      const { choices, default: usual } = input;
      if (new Set(choices).size < choices.length) yield must(`${at}.choices`, 'has a duplicate');
      if (!choices.every(isPrintable)) yield must(`${at}.choices`, INVISIBLE);
      if (usual !== undefined && !choices.includes(usual)) yield must(`${at}.default`, 'is not one of the choices');
      return;
    }
    case 'date': {
      for (const key of ['default', 'earliest', 'latest'] as const) {
        if (input[key] !== undefined && !isDay(input[key])) yield must(`${at}.${key}`, 'is not a day of the calendar');
      }
      const { earliest = '', latest = '9999-12-31', default: usual } = input;
      if (earliest > latest) yield must(`${at}.earliest`, 'is after latest');
      if (usual !== undefined && (usual < earliest || usual > latest))
        yield must(`${at}.default`, 'is outside earliest and latest');
      return;
    }
    case 'file': {
      const bytes = writtenBytes(input.max_bytes ?? UPLOAD_BYTES);
      if (bytes < 1 || bytes > UPLOAD_BYTES_MAX) yield must(`${at}.max_bytes`, 'must be from 1 to 256m');
      if (input.name === 'inputs') yield must(`${at}.name`, 'is reserved for inputs.json');
    }
  }
}

/** Whether a text is a day that exists, such as 2026-02-28. */
export function isDay(text: string): boolean {
  const atMs = DAY.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : Number.NaN;
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text);
}

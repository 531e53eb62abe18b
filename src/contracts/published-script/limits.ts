import { Fault } from '../../base/fault.ts';
import { durationMs, sizeBytes } from '../../base/units.ts';
import { SCRIPT_LIMITS, type ScriptLimit, type ScriptLimitValues } from '../script-limits.ts';
import type { WrittenScriptLimits } from './shape.ts';

/** The limits of a script.yaml in the units of a run. */
export function declaredLimits(written: WrittenScriptLimits): ScriptLimitValues {
  const named = Object.entries(written).flatMap(([key, value]) => {
    const limit = Object.hasOwn(LIMIT_BY_KEY, key) ? LIMIT_BY_KEY[key as keyof WrittenScriptLimits] : undefined;
    return limit === undefined || value === undefined ? [] : [[limit, orInfinity(() => valueOf(key, value))] as const];
  });
  return Object.fromEntries(named);
}

/** The key and the message of every limit that is out of its range. */
export function* limitsOutside(written: WrittenScriptLimits): Generator<{ key: string; message: string }> {
  for (const [key, value] of Object.entries(declaredLimits(written)) as [ScriptLimit, number][]) {
    const { minimum, maximum, range } = SCRIPT_LIMITS[key];
    if (value >= minimum && value <= maximum) continue;
    yield { key: KEY_BY_LIMIT[key], message: `must be from ${range[0]} to ${range[1]}` };
  }
}

/** A size as people write it: a number of bytes, or a text such as 10m. */
export function writtenBytes(size: number | string): number {
  return typeof size === 'number' ? size : orInfinity(() => sizeBytes(size));
}

/** A text such as 999999999999g has the form of a size, but exceeds every number. */
function orInfinity(read: () => number): number {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return Number.POSITIVE_INFINITY;
  }
}

const LIMIT_BY_KEY: Readonly<Record<keyof WrittenScriptLimits, ScriptLimit>> = {
  timeout: 'timeoutMs',
  idle_timeout: 'idleMs',
  memory: 'memoryBytes',
  cpu_seconds: 'cpuSeconds',
  cpus: 'cpus',
  pids: 'pids',
  max_files: 'outputFilesMax',
  max_bytes: 'outputBytesMax',
};

const KEY_BY_LIMIT = Object.fromEntries(Object.entries(LIMIT_BY_KEY).map(([key, limit]) => [limit, key])) as Readonly<
  Record<ScriptLimit, string>
>;

function valueOf(key: string, value: number | string): number {
  if (typeof value === 'number') return value;
  return key.endsWith('timeout') ? durationMs(value) : sizeBytes(value);
}

import { lstatSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { isMineOrRoots } from '../base/owner.ts';
import { printable } from '../base/printable.ts';
import { readRegular } from '../base/regular.ts';
import { stateFolder } from '../base/state-folder.ts';
import { durationMs, TIME } from '../base/units.ts';
import { MIB } from '../contracts/contract.ts';
import type { Caps } from '../policy/caps.ts';

/** The caps in `.proctor/settings.json`, if it exists. Their values are checked later, like other options. */
export function settingsIn(home: string): Partial<Caps> {
  const given = writtenSettings(home);
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, entry]) => (Object.hasOwn(CAPS, key) ? [[CAPS[key], entry]] : [])),
  );
}

/** How the server treats what runs of published scripts leave. */
export interface ScriptSettings {
  /** How long output files stay; forever if undefined. */
  readonly keepOutputsMs: number | undefined;
  /** How long streams and internal logs stay; forever if undefined. */
  readonly keepLogsMs: number | undefined;
  /** The program that looks at each output file, and its arguments. `{file}` stands for the file. */
  readonly scan: readonly string[] | undefined;
  readonly scanTimeoutMs: number;
}

/** The settings for runs of published scripts. Throws for a value that has no effect as written. */
export function scriptSettingsIn(home: string): ScriptSettings {
  const { keep_outputs, keep_logs } = writtenSettings(home);
  const { command, timeout = '60s' } = scanSettings();
  return {
    keepOutputsMs: keep_outputs === undefined ? undefined : timeOf('keep_outputs', keep_outputs),
    keepLogsMs: keep_logs === undefined ? undefined : timeOf('keep_logs', keep_logs),
    scan: command === undefined ? undefined : commandOf(command),
    scanTimeoutMs: Math.min(timeOf('timeout', timeout, SCAN), SCAN_TIMEOUT_MS_MAX),
  };
}

const SCAN_TIMEOUT_MS_MAX = 600_000;

/** In the state folder and not in the project, because a checkout can contain any settings.json. */
const SCAN = 'scan.json';

function scanSettings(): Readonly<Record<string, unknown>> {
  const file = path.join(stateFolder(), SCAN);
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return {};
  if (!isMineOrRoots(stat) || (stat.mode & 0o022) !== 0)
    throw new Fault('bad_settings', `${SCAN} must belong to you, and other users must not be able to write to it.`);
  return writtenObject(file, SCAN, ['command', 'timeout']);
}

function timeOf(key: string, value: unknown, file = SETTINGS): number {
  if (typeof value === 'string' && TIME.test(value)) return durationMs(value);
  throw new Fault('bad_settings', `${key} in ${file} must be a time such as 30d.`);
}

function commandOf(value: unknown): readonly string[] {
  const words = Array.isArray(value) ? value : [];
  const isCommand =
    words.length > 0 && words.length <= 100 && words.every(word => typeof word === 'string' && word !== '');
  if (isCommand && words.some(word => word === '{file}')) return words as string[];
  throw new Fault('bad_settings', `command in ${SCAN} must be a list of words, one of them "{file}".`);
}

function writtenSettings(home: string): Readonly<Record<string, unknown>> {
  return writtenObject(path.join(home, SETTINGS), SETTINGS, [...Object.keys(CAPS), ...OTHERS]);
}

const SETTINGS = 'settings.json';

/** A JSON object with some of the known keys; empty if there is no such file. */
function writtenObject(file: string, name: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  const bytes = readRegular(file, MIB);
  if (!bytes) return {};
  const reading = readJson(bytes, { bytesMax: MIB });
  if (!reading.ok) throw new Fault('bad_settings', `${name} is not a valid JSON document: ${reading.refusal.message}`);
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Fault('bad_settings', `${name} must contain an object.`);
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw new Fault('bad_settings', `${name} has an unknown key: "${printable(key)}". Use ${known.join(', ')}.`);
  }
  return value as Record<string, unknown>;
}

const CAPS: Readonly<Record<string, keyof Caps>> = {
  kept_stdout_bytes: 'stdoutBytes',
  kept_stderr_bytes: 'stderrBytes',
  kept_html_bytes: 'htmlBytes',
  kept_summary_bytes: 'summaryBytes',
};

const OTHERS: readonly string[] = ['keep_outputs', 'keep_logs'];

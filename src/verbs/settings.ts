import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { printable } from '../base/printable.ts';
import { readRegular } from '../base/regular.ts';
import { MIB } from '../contracts/contract.ts';
import type { Caps } from '../policy/caps.ts';

/** The settings in `.proctor/settings.json`, if it exists. Their values are checked later, like other options. */
export function settingsIn(home: string): Partial<Caps> {
  const bytes = readRegular(path.join(home, 'settings.json'), MIB);
  if (!bytes) return {};
  const reading = readJson(bytes, { bytesMax: MIB });
  if (!reading.ok)
    throw new Fault('bad_settings', `settings.json is not a valid JSON document: ${reading.refusal.message}`);
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('bad_settings', 'settings.json must contain an object.');
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const cap = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
      if (cap === undefined) {
        const known = Object.keys(KEYS).join(', ');
        throw new Fault('bad_settings', `settings.json has an unknown key: "${printable(key)}". Use ${known}.`);
      }
      return [cap, entry];
    }),
  );
}

const KEYS: Readonly<Record<string, keyof Caps>> = {
  kept_stdout_bytes: 'stdoutBytes',
  kept_stderr_bytes: 'stderrBytes',
  kept_html_bytes: 'htmlBytes',
  kept_summary_bytes: 'summaryBytes',
};

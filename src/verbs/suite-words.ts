import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { unsafePath } from '../base/path.ts';
import { printable } from '../base/printable.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';

/** The range of each setting, and the message for a value outside it. */
const BOUNDS: Readonly<Record<keyof SuiteSettings, readonly [number, number, string]>> = {
  timeoutMs: [1_000, 600_000, 'The timeout must be from 1s to 10m.'],
  idleMs: [1, 600_000, 'The idle timeout must be from 1ms to 10m.'],
  retries: [0, 10, 'Retries must be from 0 to 10.'],
  concurrency: [1, 1_024, 'Concurrency must be from 1 to 1024.'],
  // An answer must fit into the artifact of its case.
  bodyBytesMax: [1_024, 8 * 1024 * 1024, 'The maximum size of an answer must be from 1k to 8m.'],
  snippetBytesMax: [0, 65_536, 'The maximum size of a snippet must be from 0 to 64k.'],
  payloadInlineBytesMax: [0, 1_048_576, 'The maximum size of an inline payload must be from 0 to 1m.'],
  breakerFailures: [0, 1_000_000, 'The number of failures before Proctor pauses must be from 0 to 1000000.'],
};

/** The defaults, overridden by the requested settings. */
export function checkedSettings(asked: Partial<SuiteSettings>, defaults: SuiteSettings): SuiteSettings {
  const timeoutMs = asked.timeoutMs ?? defaults.timeoutMs;
  const settings = { ...defaults, idleMs: timeoutMs };
  for (const key of Object.keys(BOUNDS) as (keyof SuiteSettings)[]) {
    const value = asked[key];
    if (value === undefined) continue;
    const [least, most, message] = BOUNDS[key];
    if (!Number.isSafeInteger(value) || value < least || value > most) throw new Fault('usage', message);
    settings[key] = value;
  }
  return settings;
}

/** The URL of a target, safe to store. */
export function checkedUrl(text: string, secrets: readonly string[] = []): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new Fault('usage', 'The URL of the target must start with http:// or https://.');
  }
  const url = new URL(text);
  if (url.username || url.password) {
    throw new Fault('usage', "The URL contains credentials. Pass them in a header: --header 'NAME: env:VARIABLE'.");
  }
  url.hash = '';
  if (secrets.some(secret => secret.length >= TELLING_UNITS && (text.includes(secret) || url.href.includes(secret)))) {
    throw new Fault(
      'usage',
      'The URL contains a declared secret, and Proctor stores URLs. Pass the secret in a header.',
    );
  }
  return url.href.replace(/\/$/, '');
}

/** Shorter values may occur in a URL by chance. */
const TELLING_UNITS = 4;

/** Rejects headers that Proctor sets for the connection, and invalid names and values. */
export function checkHeader({ name, env, value }: { name: string; env: string; value: string }): void {
  if (OF_THE_CONNECTION.test(name)) {
    throw new Fault('usage', `Proctor sets the header ${printable(name)} itself. Omit it.`);
  }
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) {
    throw new Fault('usage', 'A header name must be in lower case, without spaces.');
  }
  if (!/^[\t\x20-\x7e]+$/.test(value) || value.trim() === '') {
    throw new Fault(
      'usage',
      `The environment variable ${printable(env)} is empty or contains characters that a header cannot contain.`,
    );
  }
}

const OF_THE_CONNECTION =
  /^(?:connection|content-length|content-type|expect|host|idempotency-key|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

/** A run name from the user. It also names the run folder and its repetitions. */
export function checkedRunId(id: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/.test(id) || /\.\d+$/.test(id)) {
    throw new Fault(
      'usage',
      'A run name has at most 96 letters, digits, dots, dashes and underscores. It starts with a letter or digit, and does not end with a dot and a number.',
    );
  }
  return id;
}

/** The command that resumes a suite from another machine. The user must specify its target and variables again. */
export function foreignResume(word: string, kind: SuiteTarget['kind']): string {
  const flags = {
    http: "--base-url URL --header 'NAME: env:VARIABLE'",
    declared: '--target FILE',
    script: '--script FILE --secret VARIABLE',
    agent: '--agent NAME --policy POLICY --secret VARIABLE',
  };
  return `proctor run suite --resume ${word} ${flags[kind]}`;
}

/** A path relative to a folder; for a file outside it, only the file name, to hide paths on this machine. */
export function inFolder(folder: string, file: string): string {
  const relative = path.relative(folder, path.resolve(folder, file));
  return unsafePath(relative) === undefined ? relative : path.basename(file);
}

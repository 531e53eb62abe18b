import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { unsafePath } from '../base/path.ts';
import { printable } from '../base/printable.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';

/** Bounds of what may be asked for: from, to, and what it is called. */
const BOUNDS: Readonly<Record<keyof SuiteSettings, readonly [number, number, string]>> = {
  timeoutMs: [1_000, 600_000, 'The timeout must be from 1s to 10m.'],
  idleMs: [1, 600_000, 'The idle timeout must be from 1ms to 10m.'],
  retries: [0, 10, 'There may be 0 to 10 retries.'],
  concurrency: [1, 1_024, 'From 1 to 1024 cases may be asked at once.'],
  // What becomes of an answer must fit into the artifact of its case.
  bodyBytesMax: [1_024, 8 * 1024 * 1024, 'Of an answer, from 1k to 8m may be read.'],
  snippetBytesMax: [0, 65_536, 'A snippet may have 0 to 64k.'],
  payloadInlineBytesMax: [0, 1_048_576, 'A payload may stand inline with 0 to 1m.'],
  breakerFailures: [0, 1_000_000, 'The number of failures after which the target is left alone must be 0 to 1000000.'],
};

/** The settings that were asked for, over the defaults. */
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

/** The address of an agent as it may be written down. */
export function checkedUrl(text: string, secrets: readonly string[] = []): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new Fault('usage', 'The address of the agent must begin with http:// or https://.');
  }
  const url = new URL(text);
  if (url.username || url.password) {
    throw new Fault(
      'usage',
      "The address holds credentials. Give them in a header (--header 'NAME: env:VARIABLE', headers).",
    );
  }
  url.hash = '';
  if (secrets.some(secret => secret.length >= TELLING_UNITS && (text.includes(secret) || url.href.includes(secret)))) {
    throw new Fault(
      'usage',
      'The address holds a declared secret, and addresses are written down. Give it as a header.',
    );
  }
  return url.href.replace(/\/$/, '');
}

/** Shorter values stand in any address. */
const TELLING_UNITS = 4;

/** What may be sent with every request. What belongs to the connection is not the caller's to say. */
export function checkHeader({ name, env, value }: { name: string; env: string; value: string }): void {
  if (OF_THE_CONNECTION.test(name)) {
    throw new Fault('usage', `The header ${printable(name)} belongs to the connection, and is set by Proctor itself.`);
  }
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) {
    throw new Fault('usage', 'The name of a header is a word in lower case.');
  }
  if (!/^[\t\x20-\x7e]+$/.test(value) || value.trim() === '') {
    throw new Fault('usage', `The variable ${printable(env)} is empty, or holds what no header may hold.`);
  }
}

const OF_THE_CONNECTION =
  /^(?:connection|content-length|content-type|expect|host|idempotency-key|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

/** The name that somebody gave a run: that of a folder, and of its repetitions. */
export function checkedRunId(id: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/.test(id) || /\.\d+$/.test(id)) {
    throw new Fault(
      'usage',
      'The name of a run has at most 96 letters, digits, dots, dashes and underscores, first a letter or digit, and does not end in a dot and a number.',
    );
  }
  return id;
}

/** The command that resumes a suite that was begun elsewhere: whatever the folder names is named again by its user. */
export function foreignResume(word: string, kind: 'http' | 'script' | 'agent'): string {
  const flags = {
    http: "--base-url URL --header 'NAME: env:VARIABLE'",
    script: '--script FILE --secret VARIABLE',
    agent: '--agent NAME --policy POLICY --secret VARIABLE',
  };
  return `proctor run suite --resume ${word} ${flags[kind]}`;
}

/** A path as it lies in a folder; outside of it, its name alone: nobody else need know where. */
export function inFolder(folder: string, file: string): string {
  const relative = path.relative(folder, path.resolve(folder, file));
  return unsafePath(relative) === undefined ? relative : path.basename(file);
}

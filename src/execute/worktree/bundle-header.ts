import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';

/** What a git bundle says about itself before its pack begins. */
export interface BundleHeader {
  readonly format: 'sha1' | 'sha256';
  /** Full names of refs, with their objects. */
  readonly refs: ReadonlyMap<string, string>;
  /** Where the pack begins. */
  readonly bytes: number;
}

/** Reads the header from the first bytes of a bundle. Refuses a bundle that needs objects from elsewhere. */
export function bundleHeader(start: Buffer): BundleHeader {
  const version = /^# v([23]) git bundle\n/.exec(start.toString('latin1', 0, 32));
  if (!version) throw refusedBundle('it is not a git bundle of version 2 or 3');
  let at = version[0].length;
  let format: BundleHeader['format'] = 'sha1';
  const refs = new Map<string, string>();
  for (;;) {
    const end = start.indexOf('\n', at);
    if (end === -1) throw refusedBundle('its header is cut off or longer than 1 MiB');
    const line = start.subarray(at, end);
    at = end + 1;
    if (line.length === 0) break;
    const text = line.toString('utf8');
    if (text.includes('\uFFFD')) throw refusedBundle('its header is not UTF-8');
    if (text.startsWith('@')) format = formatIn(text, version[1] === '3');
    else if (text.startsWith('-')) throw refusedBundle('it needs commits that it does not contain. Make it with --all');
    else takeRef(text, format, refs);
    if (refs.size > REFS_MAX) throw refusedBundle(`it has more than ${REFS_MAX.toLocaleString('en-US')} refs`);
  }
  if (refs.size === 0) throw refusedBundle('it has no refs');
  if (start.toString('latin1', at, at + 4) !== 'PACK') throw refusedBundle('its pack is missing');
  return { format, refs, bytes: at };
}

/** How many bytes to read for the header. */
export const HEADER_BYTES_MAX = 1024 * 1024;
const REFS_MAX = 10_000;

export function refusedBundle(why: string, cause?: unknown): Fault {
  return new Fault('usage', `The bundle cannot be used: ${why}.`, { cause });
}

function formatIn(text: string, isAllowed: boolean): BundleHeader['format'] {
  const [, format] = /^@object-format=(sha1|sha256)$/.exec(text) ?? [];
  if (!isAllowed || format === undefined)
    throw refusedBundle(`it needs the unsupported capability "${printable(text.slice(1, 60))}"`);
  return format === 'sha256' ? 'sha256' : 'sha1';
}

function takeRef(text: string, format: BundleHeader['format'], refs: Map<string, string>): void {
  const [, sha, name] = (format === 'sha1' ? SHA1_REF : SHA256_REF).exec(text) ?? [];
  if (sha === undefined || name === undefined) throw refusedBundle('its header has a line that is not a ref');
  if (!isRefName(name)) throw refusedBundle(`it has a ref with a name that is not allowed: "${printable(name)}"`);
  if (refs.has(name)) throw refusedBundle(`it has the ref ${printable(name)} twice`);
  refs.set(name, sha);
}

const SHA1_REF = /^([0-9a-f]{40}) (.+)$/;
const SHA256_REF = /^([0-9a-f]{64}) (.+)$/;

/** Stricter than git: rejects names that look like options, and names with a special meaning on a file system. */
export function isRefName(name: string): boolean {
  if (name === 'HEAD') return true;
  return (
    name.startsWith('refs/') &&
    name.length <= REF_CHARS_MAX &&
    !/[\p{Cc}\p{Cs} ~^:?*[\\]|\.\.|@\{/u.test(name) &&
    name.split('/').every(part => part !== '' && !/^[.-]|\.$|\.lock$/.test(part))
  );
}

const REF_CHARS_MAX = 500;

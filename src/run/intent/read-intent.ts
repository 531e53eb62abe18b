import { closeSync, fstatSync, readSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { openRegular } from '../../base/regular.ts';
import { check } from '../../contracts/check.ts';
import { intent as contract, type Intent } from '../../contracts/intent/index.ts';
import { bareNameFault } from '../../contracts/script-request/index.ts';
import { plainText } from '../written/plain-text.ts';
import { yamlDocument } from '../written/yaml-document.ts';
import { YamlFault, YamlValues } from '../written/yaml-values.ts';
import { IntentFault } from './intent-fault.ts';

/** A file that the caller named, by its base name. */
export interface Given {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** Reads one JSON document, or one YAML document if the file name says so. */
export function readGiven(
  file: string,
  what: string,
  bytesMax: number,
): { readonly value: unknown; readonly bytes: Buffer; readonly given: Given } {
  const name = path.basename(file);
  checkGivenName(name, what);
  return givenIn(bytesOf(file, what, bytesMax), name, what, bytesMax);
}

function checkGivenName(name: string, what: string): void {
  const trouble = bareNameFault(name);
  if (trouble)
    throw new IntentFault('intent_unreadable', `${what} has a name that evidence cannot contain: it ${trouble}.`);
}

/** Reads one document from its bytes, as `readGiven` does from a file. */
export function givenIn(bytes: Buffer, name: string, what: string, bytesMax: number): ReturnType<typeof readGiven> {
  checkGivenName(name, what);
  const given = { name, sha256: bytesHash(bytes), bytes: bytes.length };
  return { value: /\.ya?ml$/i.test(name) ? yamlIn(bytes, what) : jsonIn(bytes, what, bytesMax), bytes, given };
}

function jsonIn(bytes: Buffer, what: string, bytesMax: number): unknown {
  const reading = readJson(bytes, { bytesMax });
  if (reading.ok) return reading.value;
  throw new IntentFault('intent_syntax', `${what} is not a valid JSON document: ${reading.refusal.message}`, {
    details: { refusal: reading.refusal.code },
  });
}

function yamlIn(bytes: Buffer, what: string): unknown {
  const notYaml = (line: number, says: string): IntentFault =>
    new IntentFault('intent_syntax', `${what} is not a valid YAML document: line ${line}: ${says}.`);
  const text = plainText(bytes);
  if (typeof text !== 'string') throw notYaml(1, text.says);
  const document = yamlDocument(text);
  if (!('lineAt' in document)) throw notYaml(document[0]?.line ?? 1, document[0]?.says ?? 'It cannot be read');
  if (!document.root) throw notYaml(1, 'It is empty');
  try {
    return new YamlValues('an intent', contract.bytesMax).valueOf(document.root, 1).value;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw notYaml(document.lineAt(error.offset), error.message);
  }
}

function bytesOf(file: string, what: string, bytesMax: number): Buffer {
  const fd = opened(file, what);
  try {
    const { size } = fstatSync(fd);
    if (size > bytesMax) throw new IntentFault('intent_syntax', tooLarge(what, bytesMax));
    const bytes = Buffer.allocUnsafe(size + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(fd, bytes, length, bytes.length - length, null);
    }
    if (length !== size) throw new IntentFault('intent_unreadable', `${what} changed while it was read.`);
    return bytes.subarray(0, length);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new IntentFault('intent_unreadable', `${what} could not be read.`, { cause });
  } finally {
    closeSync(fd);
  }
}

/** Follows symlinks that the user names. Rejects pipes, folders and devices without blocking. */
function opened(file: string, what: string): number {
  let target: string;
  try {
    target = realpathSync(file);
  } catch (cause) {
    throw new IntentFault('intent_unreadable', `${what} does not exist.`, { cause });
  }
  const fd = openRegular(target);
  if (fd === undefined) throw new IntentFault('intent_unreadable', `${what} is not a regular file, or cannot be read.`);
  return fd;
}

function tooLarge(what: string, bytesMax: number): string {
  return `${what} exceeds the limit of ${bytesMax / 1024 ** 2} MiB.`;
}

/** Checks a value as an intent. */
export function judgedIntent(value: unknown, what = 'The intent'): Intent {
  const { violations } = check(contract, value, { strict: true, internal: false });
  const [first] = violations;
  if (!first) return { ...(value as Intent), schema_version: 'intent.v1' };
  const rest = violations.length > 1 ? ` ${violations.length - 1} more errors.` : '';
  throw new IntentFault('intent_invalid', `${what} is invalid: ${first.message}${rest}`, {
    ruleId: first.rule_id,
    details: {
      violations: violations
        .slice(0, SHOWN_MAX)
        .map(({ rule_id, path: at = '', message }) => ({ rule_id, path: at, message })),
    },
  });
}

const SHOWN_MAX = 20;

/** The final intent as stored in the run folder, and its hash. */
export function effectiveIntent(intent: Intent): { readonly text: Buffer; readonly sha256: ContentHash } {
  // As bytes, because hashing, sealing and writing would each encode a string again.
  const text = Buffer.from(canonicalize(intent));
  if (text.length > contract.bytesMax)
    throw new IntentFault('intent_invalid', tooLarge('The intent, in its canonical form,', contract.bytesMax));
  return { text, sha256: bytesHash(text) };
}

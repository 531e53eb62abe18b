import { createHmac, timingSafeEqual } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { isMineAlone } from '../../base/owner.ts';
import { readRegular } from '../../base/regular.ts';
import { makeStateKey, readStateKey } from '../../base/state-key.ts';

/**
 * The value in a file that this user's Proctor wrote on this machine; undefined if the file is missing. Refuses any
 * other file, because a checkout can contain one that lets a stranger in.
 */
export function readProven(file: string, bytesMax: number): unknown {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  const bytes = readRegular(file, bytesMax + CODE_BYTES, isMineAlone);
  const key = readStateKey();
  if (!bytes || !key || bytes[CODE_BYTES - 1] !== LINE_FEED) throw foreign(file);
  const document = bytes.subarray(CODE_BYTES);
  const expected = Buffer.from(codeOfBytes(key.bytes, file, document));
  if (!timingSafeEqual(expected, bytes.subarray(0, CODE_BYTES - 1))) throw foreign(file);
  const reading = readJson(document, { bytesMax });
  if (!reading.ok) throw foreign(file);
  return reading.value;
}

/** Replaces such a file atomically. */
export function writeProven(file: string, value: unknown): void {
  const key = makeStateKey();
  if (key.trouble !== undefined) {
    throw new Fault(
      'state_folder',
      `Proctor cannot keep ${path.basename(file)}, because ${key.trouble}. Set XDG_STATE_HOME to a folder that only you can write to.`,
    );
  }
  const document = Buffer.from(`${canonicalize(value)}\n`);
  writeAtomic(file, Buffer.concat([Buffer.from(`${codeOfBytes(key.bytes, file, document)}\n`), document]));
}

/** The code covers the name of the file, so that one file cannot stand in for another. */
function codeOfBytes(key: Buffer, file: string, document: Buffer): string {
  return createHmac('sha256', key)
    .update(`${FORMAT}\n${path.basename(file)}\n`)
    .update(document)
    .digest('base64url');
}

const FORMAT = 'proctor-server-state.v1';
/** 43 characters of base64url and a line feed. */
const CODE_BYTES = 44;
const LINE_FEED = 0x0a;

function foreign(file: string): Fault {
  return new Fault(
    'foreign_state',
    `Your Proctor did not write .proctor/server/${path.basename(file)} on this machine, or it is damaged. Remove the file and start again.`,
  );
}

import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { followLink, readRegular } from '../../base/regular.ts';
import { durationMs, sizeBytes } from '../../base/units.ts';
import { type ChecksFile, checksFile as contract } from '../../contracts/checks/index.ts';
import type { WrittenCheck } from '../../contracts/checks/shape.ts';
import { readDocument } from '../written/document.ts';
import type { CheckOrder } from '../../contracts/checks/check-order.ts';

/** Reads checks from YAML or JSON. Reports every error with its line. Overlays are relative to the file. */
export function readChecks(file: string, cwd: string): CheckOrder[] {
  const place = followLink(path.resolve(cwd, file));
  const bytes = readRegular(place, contract.bytesMax);
  if (!bytes)
    throw new Fault('bad_checks', 'The checks file cannot be read: it is missing, not a regular file, or too large.');
  const { checks } = readDocument(bytes, { contract, file: 'checks file', code: 'bad_checks' }) as ChecksFile;
  return checks.map(check => checkOrderOf(check, path.dirname(place)));
}

/** A check as people write it. Its overlay starts at `folder`. */
export function checkOrderOf(
  { timeout, memory, overlay, ...check }: WrittenCheck,
  folder: string,
  name = check.name,
): CheckOrder {
  return defined({
    ...check,
    name,
    timeoutMs: timeout === undefined ? undefined : durationMs(timeout),
    memoryBytes: memory === undefined ? undefined : sizeBytes(memory),
    overlay: overlay === undefined ? undefined : path.resolve(folder, overlay),
  });
}

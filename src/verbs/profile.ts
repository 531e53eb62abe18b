import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { check } from '../contracts/check.ts';
import { MIB } from '../contracts/contract.ts';
import { builtInProfile, builtInProfiles, type Profile, profile as contract } from '../contracts/profile/index.ts';

/** A profile by name, from a file, or as given. It must be valid. */
export function profileOf(given: string | Profile): Profile {
  if (typeof given !== 'string') return judged(given);
  const builtIn = builtInProfile(given);
  if (builtIn) return builtIn;
  const reading = readJson(bytesOf(given), { bytesMax: MIB });
  if (!reading.ok)
    throw new Fault('bad_profile', `The profile is not a valid JSON document: ${reading.refusal.message}`);
  return judged(reading.value);
}

function judged(value: unknown): Profile {
  const { violations } = check(contract, value, { strict: true, internal: false });
  const [first] = violations;
  if (!first) return value as Profile;
  const more = violations.length - 1;
  const rest = more > 0 ? ` It breaks ${more} more.` : '';
  throw new Fault('bad_profile', `The profile breaks a rule: ${first.rule_id}: ${first.message}${rest}`);
}

function bytesOf(file: string): Buffer {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile() || stat.size > MIB)
        throw new Fault('bad_profile', 'The profile is not a regular file of at most 1 MiB.');
      return readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const names = Object.keys(builtInProfiles).join(', ');
    throw new Fault('bad_profile', `There is no such profile. Use ${names} or a readable file.`, {
      cause,
    });
  }
}

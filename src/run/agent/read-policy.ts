import { closeSync, fstatSync, readSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { contentHash } from '../../base/hash.ts';
import { didYouMean } from '../../base/nearest.ts';
import { followLink, openRegular } from '../../base/regular.ts';
import {
  type AgentPolicy,
  agentPolicy as contract,
  builtInPolicies,
  builtInPolicy,
} from '../../contracts/agent-policy/index.ts';
import { MIB } from '../../contracts/contract.ts';
import { readDocument } from '../written/document.ts';

export interface NamedPolicy {
  readonly policy: AgentPolicy;
  readonly name: string;
  /** Hash of the canonical form, so YAML and JSON give the same hash. */
  readonly sha256: string;
}

/** Reads a policy by name, or from a YAML or JSON file. Reports every error with its line. */
export function readAgentPolicy(word: string, cwd: string): NamedPolicy {
  return named(builtInPolicy(word) ?? policyIn(path.resolve(cwd, word), word));
}

function named(policy: AgentPolicy): NamedPolicy {
  const whole: AgentPolicy = { ...policy, schema_version: 'agent-policy.v1' };
  return { policy: whole, name: whole.name, sha256: contentHash(whole) };
}

function policyIn(file: string, word: string): AgentPolicy {
  return readDocument(bytesOf(file, word), {
    contract,
    file: 'agent policy',
    code: 'bad_policy',
  }) as AgentPolicy;
}

function bytesOf(file: string, word: string): Buffer {
  const fd = openRegular(followLink(file));
  if (fd === undefined) {
    const names = Object.keys(builtInPolicies);
    throw new Fault(
      'bad_policy',
      `There is no such agent policy. Use ${names.join(', ')} or the path of a readable file.${didYouMean(word, names)}`,
    );
  }
  try {
    // Reads one byte more than allowed, because the file's size may change.
    const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, contract.bytesMax) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(fd, bytes, length, bytes.length - length, null);
    }
    if (length > contract.bytesMax) {
      throw new Fault('bad_policy', `The agent policy is larger than ${contract.bytesMax / MIB} MiB.`);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

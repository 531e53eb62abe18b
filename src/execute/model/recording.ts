import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { followLink, readRegular } from '../../base/regular.ts';
import type { Family } from '../../contracts/agent-step/words.ts';
import { check } from '../../contracts/check.ts';
import { isObject } from '../../contracts/kind.ts';
import { RECORDING_BYTES_MAX, type Recording, recording as contract } from '../../contracts/recording/index.ts';
import { readPart } from './recorder.ts';

/** Reads a recording and reports every problem before anything starts. If the recorder died, uses what it wrote. */
export function openRecording(file: string, family: Family): Recording {
  const refuse = (why: string): never => {
    throw new Fault('usage', `${printable(path.basename(file))} ${why}`);
  };
  const value = existsSync(file) ? documentIn(file, refuse) : readPart(file);
  if (value === undefined) return refuse('does not exist, so there is nothing to replay.');
  if (!isObject(value) || !String(value.schema_version).startsWith('recording.'))
    return refuse('is not a recording of an agent.');
  if (value.schema_version !== 'recording.v1') return refuse('has an unsupported recording format version.');
  const [first] = check(contract, value, { strict: false, internal: false }).violations;
  if (first) return refuse(`is not a valid recording: ${first.rule_id}: ${first.message}`);
  const recording = value as Recording;
  if (recording.agent_family !== family)
    return refuse(`is a recording of ${AGENTS[recording.agent_family]} and cannot be replayed for ${AGENTS[family]}.`);
  if (recording.exchanges.length === 0) return refuse('contains no answers, so there is nothing to replay.');
  return recording;
}

function documentIn(file: string, refuse: (why: string) => never): unknown {
  if (statSync(file).size > RECORDING_BYTES_MAX) return refuse('is larger than 64 MiB, the limit for recordings.');
  const bytes = readRegular(followLink(file), RECORDING_BYTES_MAX);
  if (!bytes) return refuse('cannot be read.');
  const reading = readJson(bytes, { bytesMax: RECORDING_BYTES_MAX });
  return reading.ok ? reading.value : refuse(`is not a recording: ${reading.refusal.message}`);
}

const AGENTS: Readonly<Record<Family, string>> = { claude_cli: 'Claude', codex_cli: 'Codex' };

import { closeSync, existsSync, readSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import type { ContentHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import { openRegular, readRegular } from '../base/regular.ts';
import { type CaseArtifact, caseArtifact, type RunArtifact, runArtifact } from '../contracts/artifacts/index.ts';
import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { type SuiteCase, suiteCase, type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { documentIn } from './read.ts';
import { SEAL } from './finish.ts';
import { JOURNAL } from './journal.ts';

/** What a folder says of the run of a suite. */
export interface SuiteFolder {
  readonly folder: string;
  readonly run: RunArtifact;
  readonly request: SuiteRequest;
  /** The hash of the seal's bytes; undefined while the run is open. */
  readonly sealSha256: ContentHash | undefined;
  /** Over what is equal between two runs in the same surroundings, as metadata.json tells it. */
  readonly environmentHash: string | undefined;
}

/** Where the cases lie that were sent. */
export const CASES = 'assets/cases.ndjson';

/** The run of a suite, of which only documents that keep their contract are believed. */
export function readSuite(folder: string): SuiteFolder {
  const run = readRun(folder);
  const request = documentIn(folder, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined;
  if (!run || !request) {
    if (existsSync(path.join(folder, JOURNAL))) {
      throw new Fault('suite_open', 'The run is not finished. proctor run suite --resume goes on with it.');
    }
    throw new Fault('not_a_suite', 'The folder holds no run of a suite that can be believed. proctor verify says why.');
  }
  return {
    folder,
    run,
    request,
    sealSha256: fileHash(path.join(folder, SEAL), SEAL_BYTES_MAX),
    environmentHash: environmentHashIn(folder),
  };
}

/** What run.json says, if it can be believed. */
export function readRun(folder: string): RunArtifact | undefined {
  return documentIn(folder, 'run.json', runArtifact) as RunArtifact | undefined;
}

const SEAL_BYTES_MAX = 256 * 1024 * 1024;

/** The cases as they were sent, in their order, one at a time. */
export function* suiteCases(folder: string): Generator<SuiteCase> {
  const fd = openRegular(path.join(folder, CASES));
  if (fd === undefined) throw new Fault('cases_missing', 'The cases of the run are not in its folder.');
  try {
    for (const { bytes } of linesOf(fd, suiteCase.bytesMax)) {
      const value = bytes && soundDocument(bytes, suiteCase);
      if (value === undefined) throw new Fault('cases_broken', 'A case in the folder of the run cannot be believed.');
      yield value as SuiteCase;
    }
  } finally {
    closeSync(fd);
  }
}

/** The cases by their names, each read again when it is asked for: only where it lies is held. */
export function casesById(folder: string): (id: string) => SuiteCase | undefined {
  const fd = openRegular(path.join(folder, CASES));
  if (fd === undefined) return () => undefined;
  const places = new Map<string, readonly [from: number, bytes: number]>();
  try {
    let from = 0;
    for (const { bytes } of linesOf(fd, suiteCase.bytesMax, 0)) {
      if (!bytes) break;
      const reading = readJson(bytes, { bytesMax: suiteCase.bytesMax });
      const { id } = (reading.ok ? reading.value : {}) as { id?: unknown };
      if (typeof id === 'string') places.set(id, [from, bytes.length]);
      from += bytes.length + 1;
    }
  } finally {
    closeSync(fd);
  }
  return id => {
    const place = places.get(id);
    const again = place && openRegular(path.join(folder, CASES));
    if (!place || again === undefined) return undefined;
    try {
      const bytes = Buffer.allocUnsafe(place[1]);
      readSync(again, bytes, 0, bytes.length, place[0]);
      const one = soundDocument(bytes, suiteCase) as SuiteCase | undefined;
      return one?.id === id ? one : undefined;
    } finally {
      closeSync(again);
    }
  };
}

/** What came of a case, or undefined if nothing did that can be believed. */
export function readCaseArtifact(
  folder: string,
  id: string,
  read: FileReader = (name, bytesMax) => readRegular(path.join(folder, name), bytesMax),
): CaseArtifact | undefined {
  const bytes = read(`${id}.json`, caseArtifact.bytesMax);
  return bytes && (soundDocument(bytes, caseArtifact) as CaseArtifact | undefined);
}

/** Reads a file of at most `bytesMax` at the top of a run folder. */
export type FileReader = (name: string, bytesMax: number) => Buffer | undefined;

/** The document in these bytes, if it keeps its contract. */
export function soundDocument(bytes: Buffer, contract: Contract): unknown {
  const reading = readJson(bytes, { bytesMax: contract.bytesMax });
  if (!reading.ok) return undefined;
  const { violations } = check(contract, reading.value, { strict: false, internal: false });
  return violations.length === 0 ? reading.value : undefined;
}

function environmentHashIn(folder: string): string | undefined {
  const bytes = readRegular(path.join(folder, 'evidence/metadata.json'), METADATA_BYTES_MAX);
  const reading = bytes && readJson(bytes, { bytesMax: METADATA_BYTES_MAX });
  const { environment_hash: hash } = (reading?.ok ? reading.value : {}) as { environment_hash?: unknown };
  return typeof hash === 'string' ? hash : undefined;
}

const METADATA_BYTES_MAX = 1024 * 1024;

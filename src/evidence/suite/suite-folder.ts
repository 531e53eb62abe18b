import { closeSync, existsSync, readSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import type { ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { linesOf } from '../../base/lines.ts';
import { openRegular, readRegular } from '../../base/regular.ts';
import { type CaseArtifact, caseArtifact, type RunArtifact, runArtifact } from '../../contracts/artifacts/index.ts';
import { type SuiteCase, suiteCase, type SuiteRequest, suiteRequest } from '../../contracts/suite/index.ts';
import { documentIn, looseKeys, soundDocument } from '../document.ts';
import { SEAL } from '../run-folder/finish.ts';
import { JOURNAL } from '../run-folder/journal.ts';

export interface SuiteFolder {
  readonly folder: string;
  readonly run: RunArtifact;
  readonly request: SuiteRequest;
  /** The hash of the seal's bytes; undefined while the run is open. */
  readonly sealSha256: ContentHash | undefined;
  /** Equal for two runs in the same environment. From metadata.json. */
  readonly environmentHash: string | undefined;
}

export const CASES = 'assets/cases.ndjson';

/** Reads a suite run. Throws if run.json or request.json violates its contract. */
export function readSuiteFolder(folder: string): SuiteFolder {
  const run = readRun(folder);
  const request = documentIn(folder, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined;
  if (!run || !request) {
    if (existsSync(path.join(folder, JOURNAL))) {
      throw new Fault('suite_open', 'The run is not finished. Resume it with `proctor run suite --resume`.');
    }
    throw new Fault('not_a_suite', 'The folder contains no valid suite run. `proctor verify` says why.');
  }
  return {
    folder,
    run,
    request,
    sealSha256: fileHash(path.join(folder, SEAL), SEAL_BYTES_MAX),
    environmentHash: environmentHashIn(folder),
  };
}

/** Reads run.json; undefined if it violates its contract. */
export function readRun(folder: string): RunArtifact | undefined {
  return documentIn(folder, 'run.json', runArtifact) as RunArtifact | undefined;
}

const SEAL_BYTES_MAX = 256 * 1024 * 1024;

/** The cases in the order in which they were sent. */
export function* suiteCases(folder: string): Generator<SuiteCase> {
  const fd = openRegular(path.join(folder, CASES));
  if (fd === undefined) throw new Fault('cases_missing', 'The run folder does not contain assets/cases.ndjson.');
  try {
    for (const { bytes } of linesOf(fd, suiteCase.bytesMax)) {
      const value = bytes && soundDocument(bytes, suiteCase);
      if (value === undefined) throw new Fault('cases_broken', 'A case in assets/cases.ndjson is not valid.');
      yield value as SuiteCase;
    }
  } finally {
    closeSync(fd);
  }
}

/** The ids and inputs of all cases, read without checking the rest. Stops at a line that is not a case. */
export function* caseInputs(folder: string): Generator<Pick<SuiteCase, 'id' | 'input'>> {
  const fd = openRegular(path.join(folder, CASES));
  if (fd === undefined) return;
  try {
    for (const { bytes } of linesOf(fd, suiteCase.bytesMax, 0)) {
      const reading = bytes && readJson(bytes, { bytesMax: suiteCase.bytesMax });
      if (!reading?.ok) return;
      const { id, input } = (reading.value ?? {}) as { id?: unknown; input?: unknown };
      if (typeof id !== 'string' || typeof input !== 'object' || input === null) return;
      yield { id, input: input as SuiteCase['input'] };
    }
  } finally {
    closeSync(fd);
  }
}

/** Looks up cases by id. Holds only their offsets and reads each case again on request. */
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

/** The result of a case; undefined if it is missing or not valid. */
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

function environmentHashIn(folder: string): string | undefined {
  const { environment_hash: hash } = looseKeys(path.join(folder, 'evidence/metadata.json'), METADATA_BYTES_MAX);
  return typeof hash === 'string' ? hash : undefined;
}

const METADATA_BYTES_MAX = 1024 * 1024;

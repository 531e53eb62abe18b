import { closeSync } from 'node:fs';
import { canonicalize } from '../../base/canonical.ts';
import { bytesHash } from '../../base/hash.ts';
import { openRegular, readRegular } from '../../base/regular.ts';
import { TAR_END, tarHead, tarPadding } from '../../base/tar.ts';
import { readTar } from '../../base/tar-reader.ts';
import { type CaseArtifact, caseArtifact } from '../../contracts/artifacts/index.ts';
import { type Baseline, BASELINE_PACK_BYTES_MAX } from '../../contracts/baseline/index.ts';
import type { Contract } from '../../contracts/contract.ts';
import { type SuiteCase, suiteCase } from '../../contracts/suite/index.ts';
import { soundDocument } from '../../evidence/document.ts';
import type { KeptDocuments, Side } from '../compare-input.ts';
import { artifactInFolder, casesInFolders } from './side.ts';

type PackNote = NonNullable<Baseline['pack']>;

/** The pack next to an accepted baseline, and the entry in the baseline that names it. */
export interface BaselinePack {
  readonly bytes: Buffer;
  readonly note: PackNote;
}

/**
 * Packs what root causes need: each case as sent, then the artifacts of up to five trials, passing ones first. An
 * artifact that does not fit is left out whole, because a truncated one would look as if calls were missing.
 */
export function packOf(side: Side, bytesMax = BASELINE_PACK_BYTES_MAX): BaselinePack {
  const tar = new Tar(bytesMax);
  const caseOf = casesInFolders();
  const known = knownCases(side);
  let leftOut = 0;
  for (const [id, order] of known) {
    const trial = side.trials[Math.min(...order)];
    const one = trial && caseOf(trial, id);
    if (one && !tar.add(casePath(id), canonicalize(one))) leftOut++;
  }
  let artifacts = 0;
  for (let round = 0; round < TRIALS_MAX; round++) {
    for (const [id, order] of known) {
      const number = order[round];
      const trial = number === undefined ? undefined : side.trials[number];
      const artifact = trial && artifactInFolder(trial, id);
      if (!artifact || number === undefined) continue;
      const text = canonicalize(artifact);
      if (text.length <= ARTIFACT_UNITS_MAX && tar.add(artifactPath(number, id), text)) artifacts++;
      else leftOut++;
    }
  }
  const bytes = tar.bytes();
  return { bytes, note: { sha256: bytesHash(bytes), bytes: bytes.length, artifacts, left_out: leftOut } };
}

const TRIALS_MAX = 5;

/** A quarter of a mebibyte, and more if characters take several bytes. */
const ARTIFACT_UNITS_MAX = 256 * 1024;

/**
 * A side's cases with their trial numbers. Passing trials come first, because causes are found by
 * comparing with them.
 */
function knownCases({ trials }: Side): ReadonlyMap<string, readonly number[]> {
  const passed = new Map<string, number[]>();
  const others = new Map<string, number[]>();
  for (const [number, { evaluation }] of trials.entries()) {
    for (const { case_id, verdict } of evaluation.cases) {
      const into = verdict === 'pass' ? passed : others;
      into.set(case_id, [...(into.get(case_id) ?? []), number]);
    }
  }
  const ids = new Set([...passed.keys(), ...others.keys()]);
  return new Map([...ids].map(id => [id, [...(passed.get(id) ?? []), ...(others.get(id) ?? [])]]));
}

const casePath = (id: string): string => `cases/${id}.json`;
const artifactPath = (trial: number, id: string): string => `trials/${trial + 1}/${id}.json`;

/** An archive in memory with a size limit. */
class Tar {
  readonly #parts: Buffer[] = [];
  #room: number;

  constructor(bytesMax: number) {
    this.#room = bytesMax - TAR_END.length;
  }

  /** Returns false if the entry does not fit. */
  add(path: string, text: string): boolean {
    const body = Buffer.from(text);
    const parts = [tarHead(path, body.length), body, Buffer.alloc(tarPadding(body.length))];
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    if (size > this.#room) return false;
    this.#room -= size;
    this.#parts.push(...parts);
    return true;
  }

  bytes(): Buffer {
    return Buffer.concat([...this.#parts, TAR_END]);
  }
}

/** Reads the trials in a pack; undefined if the file is not the one that the baseline names. */
export function openPack(file: string, note: PackNote): ((trial: number) => KeptDocuments) | undefined {
  const bytes = readRegular(file, note.bytes);
  if (!bytes || bytesHash(bytes) !== note.sha256) return undefined;
  const places = placesIn(file, bytes.length);
  const read = (path: string, contract: Contract): unknown => {
    const place = places.get(path);
    return place && soundDocument(bytes.subarray(place.at, place.at + place.size), contract);
  };
  return trial => ({
    artifactOf: id => {
      const artifact = read(artifactPath(trial, id), caseArtifact) as CaseArtifact | undefined;
      return artifact?.case_id === id ? artifact : undefined;
    },
    caseOf: id => {
      const one = read(casePath(id), suiteCase) as SuiteCase | undefined;
      return one?.id === id ? one : undefined;
    },
  });
}

function placesIn(file: string, bytes: number): ReadonlyMap<string, { readonly at: number; readonly size: number }> {
  const places = new Map<string, { at: number; size: number }>();
  const fd = openRegular(file);
  if (fd === undefined) return places;
  try {
    for (const entry of readTar(fd, bytes)) if (!('fault' in entry)) places.set(entry.path, entry);
    return places;
  } finally {
    closeSync(fd);
  }
}

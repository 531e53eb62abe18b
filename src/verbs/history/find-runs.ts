import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { readRegular } from '../../base/regular.ts';
import { type RunArtifact, runArtifact } from '../../contracts/artifacts/index.ts';
import { seal } from '../../contracts/seal/index.ts';
import { type SuiteRequest, suiteRequest } from '../../contracts/suite/index.ts';
import { soundDocument } from '../../evidence/document.ts';
import { isSealed } from '../../evidence/recovery/recover.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { runsIn, type RunFolder } from '../../evidence/run-folder/runs.ts';
import { SealedFolder } from '../../evidence/run-folder/sealed-folder.ts';

/** A sealed suite run whose run.json and request.json match the seal. */
export interface FoundRun {
  readonly folder: string;
  readonly run: Pick<RunArtifact, (typeof RUN_KEYS)[number]>;
  readonly request: Pick<SuiteRequest, (typeof REQUEST_KEYS)[number]>;
  /** The run sent only some of the cases. */
  readonly isPartial: boolean;
  /** The model that the request names. */
  readonly model: string | undefined;
  /** Set if the run is a later round of another. */
  readonly round: { readonly of: string; readonly round: number } | undefined;
  readonly sealSha256: string;
}

/** What the history needs. The rest may be lists of 100,000 case ids. */
const RUN_KEYS = [
  'run_id',
  'generated_at',
  'base_url',
  'cases_path',
  'repo_commit',
  'dirty',
  'provenance',
  'stats',
] as const;
const REQUEST_KEYS = ['version', 'repetition', 'target_sha256', 'provenance', 'suite'] as const;

/** A run with its repetitions and later rounds, in that order. */
export interface RunGroup {
  readonly id: string;
  readonly side: 'baseline' | 'new';
  /** The name of the suite, else the path of its case file. */
  readonly suite: string;
  readonly planned: readonly FoundRun[];
  readonly rounds: readonly FoundRun[];
}

export interface FoundRuns {
  /** Newest first. */
  readonly groups: readonly RunGroup[];
  readonly unreadable: readonly { readonly run_id: string; readonly why: string }[];
  readonly unfinished: number;
  readonly notRead: number;
}

/** Finds the suite runs of a home without reading their cases. Looks at the newest folders only. */
export function findSuiteRuns(home: string, foldersMax = FOLDERS_MAX): FoundRuns {
  const places = runsIn(home)
    .filter(({ lane }) => lane === 'baseline' || lane === 'new')
    .reverse();
  const found: FoundRun[] = [];
  const unreadable: { run_id: string; why: string }[] = [];
  let unfinished = 0;
  for (const place of places.slice(0, foldersMax)) {
    if (!isSealed(place.folder)) {
      unfinished++;
      continue;
    }
    const read = readSealed(place);
    if (typeof read === 'string') unreadable.push({ run_id: place.id, why: read });
    else found.push(read);
  }
  return { groups: grouped(found), unreadable, unfinished, notRead: Math.max(0, places.length - foldersMax) };
}

const FOLDERS_MAX = 5_000;

/** Reads what identifies a run, or says why it cannot be used. */
function readSealed({ id, lane, folder }: RunFolder): FoundRun | string {
  try {
    const sealed = SealedFolder.open(folder);
    const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
    if (!sealed || !bytes) return 'It has no readable seal.';
    const run = documentAt(sealed, 'run.json', runArtifact) as RunArtifact | undefined;
    const request = documentAt(sealed, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined;
    if (!run || !request) return 'run.json or request.json violates its contract.';
    // A copy under another name is not another run.
    if (run.run_id !== id || request.run_id !== id || request.version !== lane)
      return `It is ${printable(run.run_id)}.`;
    const { rerun, target, only, provenance } = request;
    return {
      folder,
      run: picked(run, RUN_KEYS),
      request: picked(request, REQUEST_KEYS),
      isPartial: only !== null,
      model: (target.kind === 'agent' ? target.model : undefined) ?? provenance?.model,
      round: rerun && { of: rerun.of, round: rerun.round },
      sealSha256: bytesHash(bytes),
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return error.message;
  }
}

function documentAt(sealed: SealedFolder, name: string, contract: typeof runArtifact): unknown {
  const bytes = sealed.read(name, contract.bytesMax);
  return bytes && soundDocument(bytes, contract);
}

function picked<Whole extends object, Key extends keyof Whole>(whole: Whole, keys: readonly Key[]): Pick<Whole, Key> {
  const known = keys.flatMap(key => (whole[key] === undefined ? [] : [[key, whole[key]] as const]));
  return Object.fromEntries(known) as Pick<Whole, Key>;
}

/** Puts repetitions and later rounds together. Expects the newest first, and keeps that order. */
function grouped(found: readonly FoundRun[]): RunGroup[] {
  const byName = new Map<string, { planned: FoundRun[]; rounds: FoundRun[] }>();
  for (const one of found) {
    const { version, repetition } = one.request;
    const name = `${version}/${one.round?.of ?? repetition.of}`;
    const group = byName.get(name) ?? { planned: [], rounds: [] };
    byName.set(name, group);
    (one.round ? group.rounds : group.planned).push(one);
  }
  const nameOf = suiteNames(found);
  return [...byName.values()].flatMap(({ planned, rounds }) => {
    const [first] = planned;
    // Later rounds repeat selected cases, so they say little without their run.
    if (!first) return [];
    planned.sort((a, b) => a.request.repetition.number - b.request.repetition.number);
    rounds.sort((a, b) => (a.round?.round ?? 0) - (b.round?.round ?? 0));
    const { version, repetition } = first.request;
    return [{ id: repetition.of, side: version, suite: nameOf(first), planned, rounds }];
  });
}

/**
 * Names the suite of a run. A run that was not started by the name of its suite belongs to the only suite with the same
 * case file; without one, the path of the case file is its name.
 */
function suiteNames(found: readonly FoundRun[]): (one: FoundRun) => string {
  const known = new Map<string, Set<string>>();
  for (const { run, request } of found) {
    if (request.suite === undefined) continue;
    known.set(run.cases_path, (known.get(run.cases_path) ?? new Set()).add(request.suite));
  }
  return ({ run, request }) => {
    if (request.suite !== undefined) return request.suite;
    const [name, other] = known.get(run.cases_path) ?? [];
    return name !== undefined && other === undefined ? name : run.cases_path;
  };
}

import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { Fault } from '../base/fault.ts';
import { newRunId, newRunnerId } from '../base/ids.ts';
import { printable } from '../base/printable.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { Checker, Signer } from '../contracts/seal/index.ts';
import type { Shard } from '../contracts/suite/index.ts';
import { dirtyParts, missingShards, partRules } from '../contracts/suite-part/index.ts';
import { homeFrom, makeHome, type RunFolder } from '../evidence/run-folder/runs.ts';
import { SealedFolder } from '../evidence/run-folder/sealed-folder.ts';
import { mergeSuite } from '../evidence/suite/merge-suite.ts';
import { type PartFolder, readPartFolder } from '../evidence/suite/suite-part.ts';
import { flushFolder } from '../execute/host/sync.ts';
import { ownerHere } from '../run/pipeline/runner-plan.ts';
import { judgeOwnRun } from './judged.ts';
import { checkerAt, signerAt } from './keys.ts';
import { ledgerOf } from './ledger.ts';
import { partFiles, withVerifiedParts } from './merge-parts.ts';
import { refuseUnknown } from './options.ts';
import { inFolder } from './suite-words.ts';

export interface MergeOptions {
  /** Run folders, run ids, packs, or folders with packs. */
  readonly parts: readonly string[];
  /** Merges even if parts are missing. The merged run says which. */
  readonly partial?: boolean;
  /** Public keys, one of which must have signed each part; the project's key by default. */
  readonly keys?: readonly string[];
  /** Public keys that must not have signed a part. */
  readonly revoked?: readonly string[];
  /** Runs check scripts, if the cases have any. By default, such a run is judged when you compare or report it. */
  readonly checks?: boolean;
  /** Key that signs the merged runs; the key in `.proctor` by default. */
  readonly signingKey?: string;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  readonly onWarning?: (sentence: string) => void;
}

export interface MergeResult {
  /** One run for each suite, side and repetition among the parts. */
  readonly runs: readonly MergedRun[];
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
  /** 3 if parts are missing, else 0. */
  readonly exitCode: 0 | 3;
}

export interface MergedRun {
  readonly place: RunFolder;
  readonly version: 'baseline' | 'new';
  /** The name of the suite in the project file. */
  readonly suite: string | undefined;
  readonly repetition: { readonly number: number; readonly total: number };
  readonly cases: number;
  readonly parts: readonly MergedPart[];
  /** The shards that are missing, and how many cases each has. */
  readonly missing: readonly { readonly index: number; readonly cases: number }[];
  /** Undefined if the run is not judged yet. */
  readonly evaluation: Evaluation | undefined;
}

export interface MergedPart {
  readonly number: number;
  readonly runId: string;
  readonly sealSha256: string;
  readonly shard: Shard | undefined;
  readonly cases: number;
}

type Parts = readonly [PartFolder, ...PartFolder[]];

/**
 * Joins the parts of suites into whole runs. Every part must verify, and none may contradict another. The merged run keeps
 * the bytes of every case, and the seal of the part that made it.
 */
export async function mergeRuns(options: MergeOptions): Promise<MergeResult> {
  refuseUnknown('mergeRuns', options, OPTIONS);
  const { parts: words, cwd = process.cwd(), signal } = options;
  if (!Array.isArray(words) || words.length === 0 || !words.every(word => typeof word === 'string'))
    throw new Fault('usage', 'Specify the parts to merge: run folders, run ids or packs.');
  const home = homeFrom(cwd);
  const signer = signerAt(cwd, options.signingKey);
  return withVerifiedParts(partFiles(words, home, cwd), { home, signal }, async folders => {
    const groups = groupsOf(folders);
    const trusted = trustedKeys(options, signer, cwd);
    for (const parts of groups) refuseContradiction(parts, trusted);
    const missing = missingText(groups);
    if (missing !== undefined && !options.partial)
      throw new Fault('parts_missing', `${missing} Add what is missing, or merge without it with --partial.`);
    if (missing !== undefined) options.onWarning?.(missing);
    makeHome(home);
    const runs = await writeGroups(groups, home, signer, options);
    return { runs, keyId: signer?.keyId ?? null, exitCode: missing === undefined ? 0 : 3 };
  });
}

const OPTIONS: Record<keyof MergeOptions, true> = {
  parts: true,
  partial: true,
  keys: true,
  revoked: true,
  checks: true,
  signingKey: true,
  cwd: true,
  signal: true,
  onWarning: true,
};

/** Parts of the same suite, side and repetition, in the order of their shards. */
function groupsOf(folders: readonly string[]): Parts[] {
  const groups = new Map<string, PartFolder[]>();
  for (const folder of folders) {
    const part = readPartFolder(folder, 1);
    const { version, suite = '', repetition, shard } = part.request;
    if (!shard) throw new Fault('not_a_part', `${printable(part.runId)} is not a part: it was not run with --shard.`);
    const key = [version, suite, repetition.number].join('/');
    groups.set(key, [...(groups.get(key) ?? []), part]);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, parts]) => parts.sort((a, b) => indexOf(a) - indexOf(b)).map(numbered) as readonly PartFolder[] as Parts);
}

function numbered(part: PartFolder, at: number): PartFolder {
  return { ...part, number: at + 1 };
}

function indexOf({ request: { shard } }: PartFolder): number {
  return shard?.index ?? 0;
}

function trustedKeys({ keys, revoked = [] }: MergeOptions, signer: Signer | undefined, cwd: string) {
  const read = (files: readonly string[]): Checker[] => files.flatMap(key => checkerAt(cwd, { key }) ?? []);
  const known = keys ? read(keys) : signer ? [signer] : undefined;
  return { keys: known, revoked: read(revoked) };
}

/** Throws if parts contradict each other, or are not signed as they must be. */
function refuseContradiction(parts: Parts, trusted: ReturnType<typeof trustedKeys>): void {
  const [{ request, run: first }] = parts;
  const run = { ...first, dirty: dirtyParts(parts) };
  for (const id of BEFORE) {
    const rule = partRules.find(one => one.id === id);
    const whole = { request, run, parts, files: new Map<string, string>(), linesOf: () => undefined, ...trusted };
    for (const { message } of rule?.check(whole) ?? []) {
      const what = `Cannot merge: the list of parts ${printable(message)}.`;
      if (id !== 'PT6') throw new Fault('parts_contradict', `${what} Merge parts of one run of the suite (${id}).`);
      throw new Fault('part_invalid', `${what} If you trust its key, specify the public key with --key FILE (${id}).`);
    }
  }
}

/** The rules that parts must keep before they are merged; the others concern the merged folder. */
const BEFORE = ['PT3', 'PT4', 'PT6'] as const;

/** Says which parts are missing; undefined if all are here. */
function missingText(groups: readonly Parts[]): string | undefined {
  const sentences = groups.flatMap(parts => {
    const { shard, suite, version, repetition } = parts[0].request;
    const missing = missingShards(parts).map(
      ({ index, cases }) => `${index}/${shard?.total} (${counted(cases, 'case')})`,
    );
    const which = repetition.total > 1 ? `, repetition ${repetition.number} of ${repetition.total}` : '';
    const what = `the suite ${suite === undefined ? '' : `${suite} `}(${version}${which})`;
    return missing.length === 0 ? [] : [`Parts of ${what} are missing: shard ${missing.join(', shard ')}.`];
  });
  const lost = groups.flatMap(([{ request }]) => {
    const { number, total } = request.repetition;
    const there = groups.filter(([other]) => isSameSuite(other.request, request)).length;
    return number === Math.min(...numbersOf(groups, request)) && there < total
      ? [
          `${total - there} of ${total} repetitions of ${request.suite ?? 'the suite'} (${request.version}) are missing.`,
        ]
      : [];
  });
  return sentences.length + lost.length === 0 ? undefined : [...sentences, ...lost].join(' ');
}

type Asked = PartFolder['request'];

function isSameSuite(one: Asked, other: Asked): boolean {
  return one.version === other.version && one.suite === other.suite;
}

function numbersOf(groups: readonly Parts[], request: Asked): number[] {
  return groups
    .filter(([other]) => isSameSuite(other.request, request))
    .map(([other]) => other.request.repetition.number);
}

async function writeGroups(
  groups: readonly Parts[],
  home: string,
  signer: Signer | undefined,
  options: MergeOptions,
): Promise<MergedRun[]> {
  const { signal } = options;
  const within = path.join(home, 'runs');
  const ledger = ledgerOf(home, options.onWarning, 'its end');
  const firsts = new Map<string, string>();
  const places: RunFolder[] = [];
  for (const parts of groups) {
    const { version, suite = '' } = parts[0].request;
    const of = firsts.get(`${version}/${suite}`) ?? newRunId('suite', systemClock);
    firsts.set(`${version}/${suite}`, of);
    const named = { parts, of, runnerId: newRunnerId(systemClock), mergedAtMs: systemClock.now() };
    const outDir = inFolder(path.dirname(home), within);
    places.push(
      await mergeSuite({ ...named, outDir }, within, { owner: ownerHere(), sync: flushFolder, signer, ledger }),
    );
  }
  const runs: MergedRun[] = [];
  for (const [at, parts] of groups.entries()) {
    const place = places[at] as RunFolder;
    const isSafe = options.checks === true || SealedFolder.open(place.folder)?.hasChecks === false;
    const evaluation = isSafe
      ? await judgeOwnRun(place.folder, { home, ...(signal && { signal }) }, signer)
      : undefined;
    runs.push(mergedRun(place, parts, evaluation));
  }
  return runs;
}

function mergedRun(place: RunFolder, parts: Parts, evaluation: Evaluation | undefined): MergedRun {
  const { version, suite, repetition } = parts[0].request;
  return {
    place,
    version,
    suite,
    repetition,
    cases: parts.reduce((sum, { request }) => sum + request.cases.count, 0),
    parts: parts.map(({ number, runId, sealSha256, request: { shard, cases } }) => ({
      number,
      runId,
      sealSha256,
      shard: shard && { index: shard.index, total: shard.total },
      cases: cases.count,
    })),
    missing: missingShards(parts),
    evaluation,
  };
}

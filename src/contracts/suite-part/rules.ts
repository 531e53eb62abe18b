import { canonicalize } from '../../base/canonical.ts';
import type { RunArtifact } from '../artifacts/index.ts';
import type { Checker } from '../seal/index.ts';
import { dirtyParts, disagreement, missingShards } from './agreement.ts';
import { heldAs, isShared, type LinesOf, madeBy } from './files.ts';
import type { SuiteRequest } from '../suite/index.ts';
import type { OpenedPart } from './open.ts';

/** A merged run, as the rules across its parts see it. */
export interface PartedRun {
  readonly request: SuiteRequest;
  readonly run: Pick<RunArtifact, 'selected_case_ids' | 'runner_version' | 'repo_commit' | 'dirty'>;
  /** In the order of evidence/parts.ndjson. */
  readonly parts: readonly OpenedPart[];
  /** The digest of every case and asset in the folder. */
  readonly files: ReadonlyMap<string, string>;
  readonly linesOf: LinesOf;
  /** The keys that the reader trusts; absent if the reader named none. */
  readonly keys?: readonly Checker[] | undefined;
  readonly revoked?: readonly Checker[] | undefined;
}

/** A rule across the parts of a run, with a breach as for documents. */
interface PartRule {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  readonly asks: readonly string[];
  readonly check: (run: PartedRun) => Iterable<PartFinding>;
  /** Turns a sound run into one that breaks this rule alone. */
  readonly breach: (run: PartedRun) => PartedRun;
}

interface PartFinding {
  readonly file: string;
  /** Continues a sentence that starts with the file. */
  readonly message: string;
}

export const PARTS_FILE = 'evidence/parts.ndjson';
const REQUEST = 'evidence/request.json';

const PT2: PartRule = {
  id: 'PT2',
  title: 'Cases As The Parts Sealed Them',
  why: 'Every case must lead to the seal of the part that made it.',
  asks: [
    'every case and every asset of the folder is named, with this digest, by a part; a case by exactly one (PT4)',
    'every case and every asset that a part names is in the folder',
    'an asset that belongs to no case may be in assets/partN.NAME, where N is the number of the part',
    'the lines of a part in assets/cases.ndjson and assets/replies.ndjson have the digest of its own file',
    'exempt: assets/manifest.json, which every merged run writes anew',
  ],
  *check({ parts, files, linesOf }) {
    const held = new Set<string>();
    for (const part of parts) {
      for (const [name, sha256] of madeBy(part)) {
        if (isShared(name) && linesOf(name, part) !== sha256)
          yield { file: name, message: `does not contain the lines of part ${partName(part)} as they were sealed` };
        const file = isShared(name) ? name : heldAs(part, name, sha256, files);
        if (file === undefined)
          yield { file: name, message: `is missing, or is not as part ${partName(part)} sealed it` };
        else held.add(file);
      }
    }
    for (const file of files.keys())
      if (!held.has(file)) yield { file, message: 'is not named, with this digest, by any part' };
  },
  breach: run => ({ ...run, files: new Map([...run.files].map(([name]) => [name, `sha256:${'0'.repeat(64)}`])) }),
};

const PT3: PartRule = {
  id: 'PT3',
  title: 'Parts Agree',
  why: 'Parts of one run ask the same target in the same way. Otherwise the merged run is a mixture.',
  asks: [
    'all parts have the same target_sha256, settings, version of Proctor and digest of all cases',
    'their commits agree, and so do all other keys of their requests',
    'exempt: run_id, cases, begun_elsewhere, index in shard, and of in repetition',
    'the request and run.json of the merged run agree with them',
    'dirty in run.json of the merged run is true if it is true for a part, false if it is false for all, else absent',
  ],
  *check({ parts, request, run }) {
    const [first] = parts;
    if (!first) return;
    for (const part of parts) {
      const what = disagreement(first, part);
      if (what !== undefined)
        yield {
          file: PARTS_FILE,
          message: `has parts that disagree on ${what}: ${partName(first)} and ${partName(part)}`,
        };
    }
    const what = disagreement(first, { request, run });
    if (what !== undefined) yield { file: REQUEST, message: `disagrees with the parts on ${what}` };
    if (run.dirty !== dirtyParts(parts))
      yield { file: 'run.json', message: 'disagrees with the parts on whether the checkout had changes' };
  },
  breach: run => ({
    ...run,
    parts: run.parts.map((part, at) => (at === 0 ? part : { ...part, run: { ...part.run, runner_version: '9.9.9' } })),
  }),
};

const PT4: PartRule = {
  id: 'PT4',
  title: 'Parts Disjoint',
  why: 'A case that two parts ran has two answers, and nothing says which one counts.',
  asks: ['no two parts have a seal, a shard or a case in common, ignoring the case of letters'],
  *check({ parts }) {
    const owners = new Map<string, OpenedPart>();
    for (const part of parts) {
      const twice = claimsOf(part).find(([key]) => owners.has(key));
      const other = twice && owners.get(twice[0]);
      if (twice && other)
        yield {
          file: PARTS_FILE,
          message: `has ${twice[1]} twice: in part ${partName(other)} and part ${partName(part)}`,
        };
      for (const [key] of claimsOf(part)) owners.set(key, part);
    }
  },
  breach: run => ({ ...run, parts: run.parts.map(part => ({ ...part, sealSha256: run.parts[0]?.sealSha256 ?? '' })) }),
};

const PT5: PartRule = {
  id: 'PT5',
  title: 'Parts Complete',
  why: 'A case that no part ran has not passed.',
  asks: [
    'evidence/request.json has merged if and only if there are parts, and parts in it is their number',
    'number counts the parts from 1, in the order of the lines',
    'missing in it lists every shard that has cases and is not among the parts, and no other',
    'if nothing is missing, cases in the request has the digest of all cases',
    'run.json selects exactly the cases of the parts',
  ],
  *check({ parts, request: { merged, cases }, run }) {
    if (merged?.parts !== parts.length) {
      const stated = merged ? `says that there are ${merged.parts} parts` : 'does not say that the run was merged';
      yield { file: REQUEST, message: `${stated}, but ${PARTS_FILE} has ${parts.length}` };
      return;
    }
    if (parts.some(({ number }, at) => number !== at + 1))
      yield { file: PARTS_FILE, message: 'does not number its parts from 1, line by line' };
    const missing = missingShards(parts);
    if (canonicalize(missing) !== canonicalize(merged.missing))
      yield { file: REQUEST, message: 'does not list exactly the shards that are missing' };
    else if (missing.length === 0 && cases.sha256 !== merged.all.sha256)
      yield { file: REQUEST, message: 'pins cases other than those of the parts' };
    if (idsIn([run]) !== idsIn(parts.map(part => part.run)))
      yield { file: 'run.json', message: 'selects cases other than those of the parts' };
  },
  breach: ({ request, ...run }) => ({
    ...run,
    request: {
      ...request,
      ...(request.merged && { merged: { ...request.merged, missing: [{ index: 9, cases: 1 }] } }),
    },
  }),
};

const PT6: PartRule = {
  id: 'PT6',
  title: 'Parts Signed By These Keys',
  why: 'The signature of a merged run says who collected it. The signatures of its parts say who made it.',
  asks: [
    'with --key: every part is signed with one of the given keys',
    'with --revoked: no part is signed with a revoked key; the finding names the cases that rest on it',
  ],
  *check({ parts, keys, revoked = [] }) {
    for (const part of parts) {
      const withdrawn = revoked.find(key => key.hasSigned(part.envelope) === 'right');
      const isTrusted = !keys || keys.some(key => key.hasSigned(part.envelope) === 'right');
      if (!withdrawn && isTrusted) continue;
      const how = withdrawn
        ? `signed with the revoked key ${withdrawn.keyId}`
        : 'not signed with any of the given keys';
      yield { file: PARTS_FILE, message: `has part ${partName(part)}, which is ${how}. ${restingOn(part)}` };
    }
  },
  breach: run => ({ ...run, keys: [] }),
};

/** Rules across parts. PT1 concerns one part and is part of its contract. */
export const partRules: readonly PartRule[] = [PT2, PT3, PT4, PT5, PT6];

/** "2 (suite_…, shard 2/4)". */
export function partName({ number, runId, request: { shard } }: OpenedPart): string {
  return `${number} (${runId}${shard ? `, shard ${shard.index}/${shard.total}` : ''})`;
}

/** What no other part may have, with its name in a sentence. */
function claimsOf({ sealSha256, request: { shard }, run }: OpenedPart): (readonly [key: string, what: string])[] {
  return [
    [sealSha256, 'the same seal'],
    ...(shard ? [[`shard ${shard.index}`, `shard ${shard.index}/${shard.total}`] as const] : []),
    ...run.selected_case_ids.map(id => [`case ${id.toLowerCase()}`, `the case ${id}`] as const),
  ];
}

function idsIn(runs: readonly Pick<RunArtifact, 'selected_case_ids'>[]): string {
  return [...new Set(runs.flatMap(run => run.selected_case_ids))].sort().join();
}

function restingOn({ run: { selected_case_ids: ids } }: OpenedPart): string {
  const named = ids.slice(0, NAMED_MAX).join(', ');
  const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : '';
  return `Cases that rest on it: ${ids.length === 0 ? 'none' : `${named}${more}`}`;
}

const NAMED_MAX = 20;

import { defined } from '../../base/defined.ts';
import { contentHash } from '../../base/hash.ts';
import { documentIn } from '../../evidence/document.ts';
import {
  casesById,
  readCaseArtifact,
  readSuiteFolder,
  suiteCases,
  type SuiteFolder,
} from '../../evidence/suite/suite-folder.ts';
import { runner } from '../../contracts/runner/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { PROVENANCE, type SeenProvenance } from '../../contracts/provenance.ts';
import { groupOf, kindName, type SuiteCase, type SuiteTarget } from '../../contracts/suite/index.ts';
import type {
  ArtifactReader,
  CaseName,
  CaseReader,
  Conditions,
  Judged,
  JudgedCase,
  TrialOfSide,
} from '../compare-input.ts';

/** A suite run and its evaluation, as one trial of a side. */
export function trialFrom(folder: string, evaluation: Judged, evaluationSeal?: string): TrialOfSide {
  const suite = readSuiteFolder(folder);
  return {
    runId: suite.run.run_id,
    ...(suite.request.rerun && { isRerun: true }),
    folder,
    sealSha256: suite.sealSha256,
    evaluation: { cases: evaluation.cases.map(leanCase) },
    evaluationSeal,
    environmentHash: CONTENT_HASH.test(suite.environmentHash ?? '') ? suite.environmentHash : undefined,
    targetSha256: suite.request.target_sha256,
    ...(suite.request.target.kind === 'http' && { address: suite.request.target.url }),
    casesSha256: suite.request.cases.sha256,
    conditions: {
      ...conditionsOf(suite, documentIn(folder, 'evidence/runner.json', runner) as Runner | undefined),
      ...provenanceOf(suite, evaluation.provenance),
    },
  };
}

/** A round without any answer means that the target is down. It says nothing about the version. */
export function isUnanswered({ isRerun, evaluation }: TrialOfSide): boolean {
  return isRerun === true && evaluation.cases.every(({ error_class }) => error_class !== null);
}

/**
 * A compact judged case, because a comparison holds the cases of all runs. Cases share one list of passed
 * expectations. Texts are copied, because a concatenated string keeps its parts alive.
 */
function leanCase(one: JudgedCase): JudgedCase {
  const { case_id, verdict, error_class, assertions, metrics, output_hash, answer_hash, failure, repairs } = one;
  const isGood = assertions.length > 0 && assertions.every(({ status }) => status === 'pass');
  const lean: JudgedCase = {
    case_id,
    case_sha256: flat(one.case_sha256),
    verdict,
    error_class,
    assertions: isGood ? HELD : assertions,
    metrics,
    output_hash,
    answer_hash: answer_hash === undefined ? undefined : flat(answer_hash),
  };
  if (failure) lean.failure = failure;
  if (repairs) lean.repairs = repairs;
  return lean;
}

function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

const HELD: JudgedCase['assertions'] = [{ name: 'contains', status: 'pass', message: null, at: null }];

/** A value that does not look like a hash counts as unknown. */
const CONTENT_HASH = /^sha256:[a-f0-9]{64}$/;

/** The names of a run's cases. */
export function caseNames(folder: string): ReadonlyMap<string, CaseName> {
  const names = new Map<string, CaseName>();
  for (const one of suiteCases(folder)) names.set(one.id, caseName(one));
  return names;
}

export function caseName(one: SuiteCase): CaseName {
  return { title: one.title, ...groupOf(one) };
}

/** Reads artifacts from run folders, or from the pack of an accepted baseline. */
export const artifactInFolder: ArtifactReader = ({ folder, kept }, caseId) =>
  folder === undefined ? kept?.artifactOf(caseId) : readCaseArtifact(folder, caseId);

/** Reads the cases of runs from their folders. Scans each folder once, on first use. */
export function casesInFolders(): CaseReader {
  const readers = new Map<string, ReturnType<typeof casesById>>();
  return ({ folder, kept }, caseId) => {
    if (folder === undefined) return kept?.caseOf(caseId);
    const reader = readers.get(folder) ?? casesById(folder);
    readers.set(folder, reader);
    return reader(caseId);
  };
}

/** A candidate may use another target. A different kind of target, other limits or another sandbox are drift. */
function conditionsOf({ request }: SuiteFolder, record: Runner | undefined): Conditions {
  const { timeout_ms, idle_timeout_ms, retries, concurrency } = request.settings;
  return {
    'target.kind': kindName(request.target),
    ...named('settings', { timeout_ms, idle_timeout_ms, retries, concurrency }),
    ...(request.target.kind === 'agent' && named('settings', limitsOf(request.target))),
    ...(request.target.kind === 'agent' && named('work', workOf(request.target))),
    ...(record && { ...named('policy.sandbox', record.sandbox), ...named('policy.limits', record.limits) }),
  };
}

/** Provenance: as the answers report it, else as the target does, else as stated when the run started. */
function provenanceOf({ request }: SuiteFolder, seen: SeenProvenance = {}): Conditions {
  const { target, provenance: stated = {} } = request;
  const known = PROVENANCE.map(name => {
    const ofTarget = name === 'model' && target.kind === 'agent' ? target.model : undefined;
    return [name, seen[name]?.join(', ') ?? ofTarget ?? stated[name]] as const;
  });
  return named('provenance', Object.fromEntries(known.filter(([, value]) => value !== undefined)));
}

/** The limits on an agent program besides its policy, and whether its model was live, recorded or replayed. */
function limitsOf(target: Extract<SuiteTarget, { kind: 'agent' }>): object {
  const { max_turns, max_requests, max_tokens, max_cost_usd, model_mode } = target;
  const limits = { max_turns, max_requests, max_tokens, max_cost_usd, model_mode };
  return defined(limits);
}

/** What cases start from and are checked with. One hash per kind, because a suite can name thousands of folders. */
function workOf({ base, work }: Extract<SuiteTarget, { kind: 'agent' }>): object {
  const { agents = [], policies = [], checks = [], mounts = [], contents = [] } = work ?? {};
  const ofKind = (kind: (typeof contents)[number]['of']) => contents.filter(({ of }) => of === kind);
  const lists = {
    agents,
    policies,
    checks,
    mounts: [...mounts, ...ofKind('mount')],
    hidden_files: ofKind('overlay'),
    files: ofKind('files'),
    repositories: ofKind('repository'),
  };
  const hashes = Object.entries(lists).filter(([, list]) => list.length > 0);
  return defined({ base, ...Object.fromEntries(hashes.map(([name, list]) => [name, contentHash(list)])) });
}

function named(group: string, values: object): Conditions {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${group}.${key}`, String(value)]));
}

import { defined } from '../base/defined.ts';
import { documentIn } from '../evidence/document.ts';
import { casesById, readCaseArtifact, readSuite, suiteCases, type SuiteFolder } from '../evidence/suite-folder.ts';
import { runner } from '../contracts/runner/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import { PROVENANCE, type SeenProvenance } from '../contracts/provenance.ts';
import { groupOf, type SuiteCase, type SuiteTarget } from '../contracts/suite/index.ts';
import type {
  ArtifactReader,
  CaseName,
  CaseReader,
  Conditions,
  Judged,
  JudgedCase,
  TrialOfSide,
} from './compare-input.ts';

/** A run of a suite and its evaluation, as one trial of a side. */
export function trialFrom(folder: string, evaluation: Judged, evaluationSeal?: string): TrialOfSide {
  const suite = readSuite(folder);
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

/** A round that got no answer in any case says that nobody is there, and nothing of the version that was meant. */
export function isUnanswered({ isRerun, evaluation }: TrialOfSide): boolean {
  return isRerun === true && evaluation.cases.every(({ error_class }) => error_class !== null);
}

/**
 * A judged case in less memory, because a comparison holds those of all runs. Which expectations held is not asked again, so
 * cases share one list of them; texts are copied, because the parts of one that was put together stay alive beside it.
 */
function leanCase(one: JudgedCase): JudgedCase {
  const { case_id, verdict, error_class, assertions, metrics, output_hash, answer_hash, failure } = one;
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
  return lean;
}

function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

const HELD: JudgedCase['assertions'] = [{ name: 'contains', status: 'pass', message: null, at: null }];

/** What does not look like a hash is not known, whoever wrote it. */
const CONTENT_HASH = /^sha256:[a-f0-9]{64}$/;

/** What people call the cases of a run. */
export function caseNames(folder: string): ReadonlyMap<string, CaseName> {
  const names = new Map<string, CaseName>();
  for (const one of suiteCases(folder)) names.set(one.id, caseName(one));
  return names;
}

export function caseName(one: SuiteCase): CaseName {
  return { title: one.title, ...groupOf(one) };
}

/** Reads artifacts out of the folders of runs, or out of the pack of an accepted baseline. */
export const artifactInFolder: ArtifactReader = ({ folder, kept }, caseId) =>
  folder === undefined ? kept?.artifactOf(caseId) : readCaseArtifact(folder, caseId);

/** Reads the cases of runs out of their folders. Each folder is looked through once, when its first case is asked for. */
export function casesInFolders(): CaseReader {
  const readers = new Map<string, ReturnType<typeof casesById>>();
  return ({ folder, kept }, caseId) => {
    if (folder === undefined) return kept?.caseOf(caseId);
    const reader = readers.get(folder) ?? casesById(folder);
    readers.set(folder, reader);
    return reader(caseId);
  };
}

/** Another target is what `new` means; another kind of target, other bounds or another sandbox are not. */
function conditionsOf({ request }: SuiteFolder, record: Runner | undefined): Conditions {
  const { timeout_ms, idle_timeout_ms, retries, concurrency } = request.settings;
  return {
    'target.kind': request.target.kind,
    ...named('settings', { timeout_ms, idle_timeout_ms, retries, concurrency }),
    ...(request.target.kind === 'agent' && named('settings', limitsOf(request.target))),
    ...(record && { ...named('policy.sandbox', record.sandbox), ...named('policy.limits', record.limits) }),
  };
}

/** What the agent was made of: as its answers say, else as the target does, else as whoever started the run did. */
function provenanceOf({ request }: SuiteFolder, seen: SeenProvenance = {}): Conditions {
  const { target, provenance: stated = {} } = request;
  const known = PROVENANCE.map(name => {
    const ofTarget = name === 'model' && target.kind === 'agent' ? target.model : undefined;
    return [name, seen[name]?.join(', ') ?? ofTarget ?? stated[name]] as const;
  });
  return named('provenance', Object.fromEntries(known.filter(([, value]) => value !== undefined)));
}

/** What bounds an agent's program beside its policy, and whether its model answered at all. */
function limitsOf(target: Extract<SuiteTarget, { kind: 'agent' }>): object {
  const { max_turns, max_requests, max_tokens, max_cost_usd, model_mode } = target;
  const limits = { max_turns, max_requests, max_tokens, max_cost_usd, model_mode };
  return defined(limits);
}

function named(group: string, values: object): Conditions {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${group}.${key}`, String(value)]));
}

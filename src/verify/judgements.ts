import path from 'node:path';
import type { Comparison } from '../contracts/comparison/index.ts';
import {
  comparisonContradictions,
  type SealContradiction,
  evaluationContradictions,
  type JudgementStatement,
  openJudgement,
} from '../contracts/judgement-seal/index.ts';
import { openSeal, type SealEnvelope } from '../contracts/seal/index.ts';
import type { AnyEvaluation } from '../evidence/judgement/evaluation-files.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { keyIdsOf, sealFileOf } from '../evidence/judgement/judgement.ts';
import { JS } from './folder-rules.ts';
import type { FolderDocument, FolderFinding, Inspector, Surroundings } from './inspector.ts';
import { above } from './walk.ts';

type Judgement =
  | { readonly kind: 'evaluation'; readonly value: AnyEvaluation }
  | { readonly kind: 'comparison'; readonly value: Pick<Comparison, 'comparison_id' | 'generated_at' | 'sides'> };

interface Sealed {
  readonly statement: JudgementStatement;
  readonly envelope: SealEnvelope;
}

/** JS6 to JS9: compares evaluations and comparisons with their seals, and the seals with the run. */
export function judgementInspector(
  surroundings: Surroundings,
  { isRequired }: { readonly isRequired: boolean },
): Inspector {
  const { tree, troubled, report } = surroundings;
  const known: Known = { judgements: new Map(), seals: new Map(), runs: new Map() };
  return {
    take(document) {
      note(known, document);
    },

    end() {
      for (const [file, { kind }] of known.judgements) {
        if (tree.files.has(sealFileOf(file))) continue;
        const isNew = kind === 'evaluation' && sealsEvaluations(known.runs.get(runOf(file)));
        report({ rule: JS.JS7.id, level: isNew || isRequired ? 'must' : 'should', file, message: UNSEALED });
      }
      for (const [file, sealed] of known.seals) {
        if (troubled.has(file)) continue;
        for (const finding of changed(file, sealed, surroundings)) report(finding);
        for (const finding of disagreeing(file, sealed, known, surroundings)) report(finding);
        for (const finding of signedOtherwise(file, sealed, known)) report(finding);
      }
    },
  };
}

interface Known {
  readonly judgements: Map<string, Judgement>;
  readonly seals: Map<string, Sealed>;
  /** The seals of runs, by run folder. */
  readonly runs: Map<string, SealEnvelope>;
}

function note({ judgements, seals, runs }: Known, { file, contract, value }: FolderDocument): void {
  if (contract.name === 'seal') runs.set(above(file, 1) ?? '', value as SealEnvelope);
  if (contract.name === 'judgement-seal') {
    const opened = openJudgement(value);
    if (opened.ok) seals.set(file, opened);
  }
  if (contract.name === 'evaluation' || contract.name === 'agent-evaluation') {
    // Without the cases: there may be 100,000.
    const { run_id, generated_at, judge_version, seal_sha256 } = value as AnyEvaluation;
    judgements.set(file, { kind: 'evaluation', value: { run_id, generated_at, judge_version, seal_sha256 } });
  }
  if (contract.name === 'comparison') {
    const { comparison_id, generated_at, sides } = value as Comparison;
    judgements.set(file, { kind: 'comparison', value: { comparison_id, generated_at, sides } });
  }
}

function* changed(file: string, { statement }: Sealed, { tree, hashOf }: Surroundings): Generator<FolderFinding> {
  for (const { name, digest, annotations } of statement.subject) {
    const sealed = path.posix.join(path.posix.dirname(file), name);
    const place = { rule: JS.JS6.id, level: 'must', file: sealed } as const;
    const size = tree.files.get(sealed);
    if (size === undefined) yield { ...place, message: 'was sealed, but is missing' };
    else if (size !== annotations.size_bytes || hashOf(sealed) !== `sha256:${digest.sha256}`) {
      yield { ...place, message: 'was changed after it was sealed' };
    }
  }
}

function* disagreeing(
  file: string,
  { statement }: Sealed,
  { judgements }: Known,
  { tree, hashOf }: Surroundings,
): Generator<FolderFinding> {
  const place = { rule: JS.JS8.id, level: 'must', file } as const;
  const judged = judgements.get(file.replace(/\.seal\.json$/, '.json'));
  for (const { at, message } of doubtsOf(file, statement, judged)) yield { ...place, at, message };
  const run = path.posix.join(runOf(file), SEAL);
  const [foundation] = statement.predicate.rests_on;
  if (statement.predicate.kind !== 'evaluation' || !tree.files.has(run)) return;
  if (hashOf(run) !== foundation?.seal_sha256) {
    yield { ...place, at: 'payload.predicate.rests_on[0].seal_sha256', message: `is not the hash of ${SEAL}` };
  }
}

function* doubtsOf(
  file: string,
  statement: JudgementStatement,
  judged: Judgement | undefined,
): Generator<SealContradiction> {
  if (path.posix.basename(file) !== `${statement.predicate.kind}.seal.json`) {
    yield { at: 'payload.predicate.kind', message: 'does not match the file name' };
  } else if (judged?.kind === 'evaluation') yield* evaluationContradictions(statement, judged.value);
  else if (judged) yield* comparisonContradictions(statement, judged.value);
}

function* signedOtherwise(file: string, { envelope, statement }: Sealed, { runs }: Known): Generator<FolderFinding> {
  const run = runs.get(runOf(file));
  if (statement.predicate.kind !== 'evaluation' || !run || run.signatures.length === 0) return;
  const place = { rule: JS.JS9.id, level: 'must', file } as const;
  if (envelope.signatures.length === 0) yield { ...place, message: 'is not signed, but the seal of the run is' };
  else if (keyIdsOf(envelope).join() !== keyIdsOf(run).join()) {
    yield { ...place, message: 'is signed with a different key than the run' };
  }
}

const UNSEALED = 'has no seal, so anyone could have written it: delete it, and Proctor judges the run again';

/** Whether the run was sealed by a version that also seals evaluations. */
function sealsEvaluations(run: SealEnvelope | undefined): boolean {
  const opened = openSeal(run);
  return opened.ok && opened.statement.predicate.evaluation_sealed === true;
}

/** The run folder of an evaluation: its own folder, or the one above evidence/. */
function runOf(file: string): string {
  const folder = above(file, 0) ?? '';
  return path.posix.basename(folder) === 'evidence' ? (above(file, 1) ?? '') : folder;
}

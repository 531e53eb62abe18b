import path from 'node:path';
import type { Comparison } from '../contracts/comparison/index.ts';
import {
  comparisonDoubts,
  type Doubt,
  evaluationDoubts,
  type JudgementStatement,
  openJudgement,
} from '../contracts/judgement-seal/index.ts';
import { openSeal, type SealEnvelope } from '../contracts/seal/index.ts';
import type { AnyEvaluation } from '../evidence/evaluation-files.ts';
import { SEAL } from '../evidence/finish.ts';
import { keyIdsOf, sealFileOf } from '../evidence/judgement.ts';
import { JS } from './folder-rules.ts';
import type { FolderFinding, Inspector, Surroundings } from './inspector.ts';
import { above } from './walk.ts';

type Judgement =
  | { readonly kind: 'evaluation'; readonly value: AnyEvaluation }
  | { readonly kind: 'comparison'; readonly value: Pick<Comparison, 'comparison_id' | 'generated_at' | 'sides'> };

interface Sealed {
  readonly statement: JudgementStatement;
  readonly envelope: SealEnvelope;
}

/** JS6 to JS9: evaluations and comparisons against their seals, and these against the run. */
export function judgementInspector(
  { tree, hashOf, troubled, report }: Surroundings,
  { isRequired }: { readonly isRequired: boolean },
): Inspector {
  const judgements = new Map<string, Judgement>();
  const seals = new Map<string, Sealed>();
  /** The seals of runs, by their folders. */
  const runs = new Map<string, SealEnvelope>();

  function* unsealed(file: string, { kind }: Judgement): Generator<FolderFinding> {
    if (tree.files.has(sealFileOf(file))) return;
    const isNew = kind === 'evaluation' && sealsEvaluations(runs.get(runOf(file)));
    yield { rule: JS.JS7.id, level: isNew || isRequired ? 'must' : 'should', file, message: UNSEALED };
  }

  function* changed(file: string, { statement }: Sealed): Generator<FolderFinding> {
    for (const { name, digest, annotations } of statement.subject) {
      const sealed = path.posix.join(path.posix.dirname(file), name);
      const place = { rule: JS.JS6.id, level: 'must', file: sealed } as const;
      const size = tree.files.get(sealed);
      if (size === undefined) yield { ...place, message: 'was sealed, and is not there' };
      else if (size !== annotations.size_bytes || hashOf(sealed) !== `sha256:${digest.sha256}`) {
        yield { ...place, message: 'is not what was sealed: it was changed' };
      }
    }
  }

  function* disagreeing(file: string, { statement }: Sealed): Generator<FolderFinding> {
    const place = { rule: JS.JS8.id, level: 'must', file } as const;
    for (const { at, message } of doubtsOf(file, statement)) yield { ...place, at, message };
    const run = path.posix.join(runOf(file), SEAL);
    const [foundation] = statement.predicate.rests_on;
    if (statement.predicate.kind !== 'evaluation' || !tree.files.has(run)) return;
    if (hashOf(run) !== foundation?.seal_sha256) {
      yield { ...place, at: 'payload.predicate.rests_on[0].seal_sha256', message: `is not the hash of ${SEAL}` };
    }
  }

  function* doubtsOf(file: string, statement: JudgementStatement): Generator<Doubt> {
    const { kind } = statement.predicate;
    const judged = judgements.get(file.replace(/\.seal\.json$/, '.json'));
    if (path.posix.basename(file) !== `${kind}.seal.json`) {
      yield { at: 'payload.predicate.kind', message: 'is not that of the file it lies in' };
    } else if (judged?.kind === 'evaluation') yield* evaluationDoubts(statement, judged.value);
    else if (judged) yield* comparisonDoubts(statement, judged.value);
  }

  function* strange(file: string, { envelope, statement }: Sealed): Generator<FolderFinding> {
    const run = runs.get(runOf(file));
    if (statement.predicate.kind !== 'evaluation' || !run || run.signatures.length === 0) return;
    const place = { rule: JS.JS9.id, level: 'must', file } as const;
    if (envelope.signatures.length === 0) yield { ...place, message: 'is not signed, and the run is' };
    else if (keyIdsOf(envelope).join() !== keyIdsOf(run).join()) {
      yield { ...place, message: 'is signed by another key than the run' };
    }
  }

  return {
    take({ file, contract, value }) {
      if (contract.name === 'seal') runs.set(above(file, 1) ?? '', value as SealEnvelope);
      if (contract.name === 'judgement-seal') {
        const opened = openJudgement(value);
        if (opened.ok) seals.set(file, opened);
      }
      if (contract.name === 'evaluation' || contract.name === 'agent-evaluation') {
        // Without its cases, of which there may be a hundred thousand.
        const { run_id, generated_at, judge_version, seal_sha256 } = value as AnyEvaluation;
        judgements.set(file, { kind: 'evaluation', value: { run_id, generated_at, judge_version, seal_sha256 } });
      }
      if (contract.name === 'comparison') {
        const { comparison_id, generated_at, sides } = value as Comparison;
        judgements.set(file, { kind: 'comparison', value: { comparison_id, generated_at, sides } });
      }
    },

    end() {
      for (const [file, judged] of judgements) for (const finding of unsealed(file, judged)) report(finding);
      for (const [file, sealed] of seals) {
        if (troubled.has(file)) continue;
        for (const look of [changed, disagreeing, strange]) for (const finding of look(file, sealed)) report(finding);
      }
    },
  };
}

const UNSEALED = 'has no seal beside it, so anybody could have written it: delete it, and readers judge the run again';

/** Whether a run was sealed by a version that seals evaluations, too. */
function sealsEvaluations(run: SealEnvelope | undefined): boolean {
  const opened = openSeal(run);
  return opened.ok && opened.statement.predicate.evaluation_sealed === true;
}

/** The folder of the run that an evaluation lies with: its own, or the one above evidence/. */
function runOf(file: string): string {
  const folder = above(file, 0) ?? '';
  return path.posix.basename(folder) === 'evidence' ? (above(file, 1) ?? '') : folder;
}

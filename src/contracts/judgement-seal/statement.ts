import * as z from 'zod/mini';
import { folderName, side } from '../artifacts/words.ts';
import { compare } from '../check.ts';
import { contentHashText, instant, record, semver } from '../shape.ts';
import { type SealedFile, STATEMENT_TYPE, subject, subjectOf } from '../seal/statement.ts';

const JUDGEMENT_KINDS = ['evaluation', 'comparison', 'baseline'] as const;

export type JudgementKind = (typeof JUDGEMENT_KINDS)[number];

/** The seal of one input to a judgement. */
const foundation = record({
  what: z.enum(['run', 'evaluation', 'baseline']),
  /** Its side in a comparison. */
  side: z.optional(side()),
  /** The sealed run; null for a baseline, which may cover several runs. */
  id: z.nullable(folderName()),
  /** The hash of the seal's bytes. */
  seal_sha256: contentHashText(),
});

export type Foundation = z.infer<typeof foundation>;

/** Two sides of 1,000 repetitions rest on 4,000 seals: one per run and one per evaluation. */
const FOUNDATIONS_MAX = 10_000;

const PREDICATE_TYPE = 'urn:proctor:judgement:v1';

/** An in-toto statement about the files of a judgement. */
export const judgementShape = record({
  _type: z.literal(STATEMENT_TYPE),
  subject: z.array(subject),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: record({
    schema_version: z.literal('judgement-seal.v1'),
    kind: z.enum(JUDGEMENT_KINDS),
    /** The evaluated run or the comparison; null for a baseline. */
    id: z.nullable(folderName()),
    judge_version: semver(),
    sealed_at: instant(),
    signed: z.boolean(),
    rests_on: z.array(foundation).check(z.maxLength(FOUNDATIONS_MAX)),
  }),
});

export type JudgementStatement = z.infer<typeof judgementShape>;

export type JudgementPredicate = JudgementStatement['predicate'];

export interface SealedJudgement {
  readonly kind: JudgementKind;
  readonly id: string | null;
  readonly judgeVersion: string;
  /** The time that the judgement states. */
  readonly sealedAt: string;
  readonly files: readonly SealedFile[];
  readonly restsOn: readonly Foundation[];
}

/** The statement that seals a judgement: its files, and the seals of its inputs. */
export function judgementStatement(sealed: SealedJudgement): JudgementStatement {
  const { kind, id, judgeVersion, sealedAt, files, restsOn } = sealed;
  return {
    _type: STATEMENT_TYPE,
    subject: [...files].sort((a, b) => compare(a.path, b.path)).map(subjectOf),
    predicateType: PREDICATE_TYPE,
    predicate: {
      schema_version: 'judgement-seal.v1',
      kind,
      id,
      judge_version: judgeVersion,
      sealed_at: sealedAt,
      signed: false,
      rests_on: [...restsOn],
    },
  };
}

import * as z from 'zod/mini';
import { compare } from '../check.ts';
import { nameText } from '../agent-step/words.ts';
import { count, instant, matching, record } from '../shape.ts';

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const PREDICATE_TYPE = 'urn:proctor:run-folder:v1';

export const RUN_KINDS = ['script', 'agent', 'intent', 'suite'] as const;

export type RunKind = (typeof RUN_KINDS)[number];

export const subject = record({
  name: z.string(),
  digest: record({ sha256: matching(/^[a-f0-9]{64}$/, '64 lower-case hexadecimal digits') }),
  annotations: record({ size_bytes: count() }),
});

/** An in-toto statement about the files of a run folder. */
export const statementShape = record({
  _type: z.literal(STATEMENT_TYPE),
  subject: z.array(subject),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: record({
    schema_version: z.literal('seal.v1'),
    run_id: nameText(),
    kind: z.enum(RUN_KINDS),
    sealed_at: instant(),
    signed: z.boolean(),
    /** Evaluations of this run have a separate seal. Absent in seals that predate those. */
    evaluation_sealed: z.optional(z.literal(true)),
  }),
});

export type SealStatement = z.infer<typeof statementShape>;

export interface SealedFile {
  /** Relative to the run folder, with `/` as the separator. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface Sealed {
  readonly runId: string;
  readonly kind: RunKind;
  readonly sealedAt: string;
  readonly files: readonly SealedFile[];
  /** Whether the envelope will have a signature; false by default. */
  readonly signed?: boolean;
}

/** The statement that seals a run: path, digest and size of every file, sorted by path. */
export function sealStatement(sealed: Sealed): SealStatement {
  const { runId, kind, sealedAt, files, signed = false } = sealed;
  return {
    _type: STATEMENT_TYPE,
    subject: [...files].sort((a, b) => compare(a.path, b.path)).map(subjectOf),
    predicateType: PREDICATE_TYPE,
    predicate: {
      schema_version: 'seal.v1',
      run_id: runId,
      kind,
      sealed_at: sealedAt,
      signed,
      ...(isJudged(kind) && { evaluation_sealed: true }),
    },
  };
}

/** Suites and agents are evaluated after they are sealed. */
function isJudged(kind: RunKind): boolean {
  return kind === 'suite' || kind === 'agent';
}

/** The canonical text of `subjectOf`. */
export function subjectText({ path, sha256, bytes }: SealedFile): string {
  const digest = sha256.slice('sha256:'.length);
  return `{"annotations":{"size_bytes":${bytes}},"digest":{"sha256":"${digest}"},"name":${JSON.stringify(path)}}`;
}

export function subjectOf({ path, sha256, bytes }: SealedFile): SealStatement['subject'][number] {
  return { name: path, digest: { sha256: sha256.replace(/^sha256:/, '') }, annotations: { size_bytes: bytes } };
}

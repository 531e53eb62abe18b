import { canonicalize } from '../../base/canonical.ts';
import { bytesHash } from '../../base/hash.ts';
import { type RunArtifact, runArtifact } from '../artifacts/index.ts';
import { sealDocument, sealStatement, type Signer } from '../seal/index.ts';
import { shardSize, type SuiteRequest, suiteRequest } from '../suite/index.ts';
import { PART_REQUEST, PART_RUN, type SuitePart } from './shape.ts';

export const EXAMPLE_RUN = 'suite_20260106_121500_9a7be2104f1c';
export const EXAMPLE_CASES = ['refund-small', 'refund-large', 'refund-unknown-order'];
const TOTAL = 2;

/** The digest of a file in the example, made up from its name. */
export function exampleDigest(name: string): string {
  return bytesHash(name);
}

export const EXAMPLE_ALL = { sha256: exampleDigest('all cases'), bytes: 1_874, count: EXAMPLE_CASES.length };

/** The part of the example at an index, from 1. */
export function examplePart(index: number, signer?: Signer): SuitePart {
  const runId = `suite_20260106_120000_4f1c9a7be21${index}`;
  const ids = EXAMPLE_CASES.filter((_, at) => at % TOTAL === index - 1);
  const whole = suiteRequest.example as SuiteRequest;
  const request: SuiteRequest = {
    ...whole,
    run_id: runId,
    repetition: { of: runId, number: 1, total: 1 },
    shard: { index, total: TOTAL, all: EXAMPLE_ALL },
    cases: {
      sha256: exampleDigest(`cases of part ${index}`),
      bytes: 900,
      count: shardSize(EXAMPLE_ALL.count, { index, total: TOTAL }),
    },
  };
  const run: RunArtifact = {
    ...(runArtifact.example as RunArtifact),
    run_id: runId,
    selected_case_ids: ids,
    stats: { cases_total: ids.length, cases_completed: ids.length, cases_failed: 0, duration_ms: 4_100 },
  };
  const documents = [
    { path: PART_REQUEST, text: canonicalize(request) },
    { path: PART_RUN, text: canonicalize(run) },
  ];
  const files = [
    ...ids.map(id => ({ path: `${id}.json`, sha256: exampleDigest(id), bytes: 700 })),
    { path: 'assets/cases.ndjson', sha256: request.cases.sha256, bytes: 900 },
    ...documents.map(({ path, text }) => ({ path, sha256: bytesHash(text), bytes: Buffer.byteLength(text) })),
  ];
  const statement = sealStatement({ runId, kind: 'suite', sealedAt: '2026-01-06T12:00:10.000Z', files });
  return {
    schema_version: 'suite-part.v1',
    run_id: EXAMPLE_RUN,
    number: index,
    seal: canonicalize(sealDocument(statement, signer)),
    documents,
  };
}

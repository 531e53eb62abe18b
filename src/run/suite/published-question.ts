import { Fault } from '../../base/fault.ts';
import { contentHash, type ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { PUBLISHED_CASE, type PublishedRequest, publishedRequest } from '../../contracts/published-request/index.ts';
import { keepsContract } from '../../evidence/document.ts';
import type { AttemptRequest } from '../../queue/queue.ts';
import type { BlobStore } from '../../store/store.ts';
import { blobBytes } from '../../store/blob-bytes.ts';
import type { ReportedQuestion } from './attempt-report.ts';
import type { Answered } from './target.ts';

/** What a worker must offer: the sandbox and the isolation that every run of a published script gets at least. */
export const PUBLISHED_NEEDS = 'script/process/standard';

/** What a worker signs about a run: the version takes the place of the target, and the request that of the case. */
export function publishedQuestion(request: PublishedRequest): ReportedQuestion {
  const { key, run_id, published } = request;
  return { key, run_id, attempt: 1, target: published, case: { id: PUBLISHED_CASE, request } };
}

/** What a signed outcome must name. */
export function publishedHashes(request: PublishedRequest): Record<'targetSha256' | 'caseSha256', ContentHash> {
  const { target, case: one } = publishedQuestion(request);
  return { targetSha256: contentHash(target), caseSha256: contentHash(one) };
}

/** The sealed run is the answer, however the script ended. */
export const PUBLISHED_ANSWER: Answered = {
  ok: true,
  reply: { proposed_actions: [], events: [], final_output: { content_type: 'text', content: '' } },
  masked: {},
  bytes: 0,
  repairs: {},
};

/** Reads what a queue delivered. It may come from anyone who can write to the queue. */
export async function readPublishedRequest(
  { ask, key, needs, script }: Pick<AttemptRequest, 'ask' | 'key' | 'needs' | 'script'>,
  store: BlobStore | undefined,
): Promise<PublishedRequest> {
  const bytes = await blobBytes(store, ask as ContentHash, publishedRequest.bytesMax);
  if (bytes === 'too large') throw new Fault('attempt_request', 'The request of the run is too large.');
  if (bytes === 'missing')
    throw new Fault('no_blob', 'The run is in a store that this worker does not have. Start it with the same --store.');
  const reading = readJson(bytes, { bytesMax: publishedRequest.bytesMax });
  if (!reading.ok || !keepsContract(reading.value, publishedRequest))
    throw new Fault('attempt_request', 'The run breaks a rule of published-request.v1.');
  const request = reading.value as PublishedRequest;
  // The queue chose this worker by its own copy. A worker at a server does not learn its script.
  const isOther = script !== undefined && script.sha256 !== request.published.digest;
  if (request.key !== key || needs !== PUBLISHED_NEEDS || isOther)
    throw new Fault('attempt_request', 'The run is another one than its request says.');
  return request;
}

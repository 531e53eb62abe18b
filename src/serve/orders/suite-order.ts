import * as z from 'zod/mini';
import { systemClock } from '../../base/clock.ts';
import { contentHash } from '../../base/hash.ts';
import { newRunId } from '../../base/ids.ts';
import { askedLimits } from '../../contracts/gate/limits/shape.ts';
import { statedProvenance } from '../../contracts/provenance.ts';
import { count, matching, record, variableName } from '../../contracts/shape.ts';
import type { NewOrder } from './order-terms.ts';
import type { SuiteOrderInput } from './suite-orders.ts';

const fileName = () =>
  matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'a file name of letters, digits, ".", "-" and "_"');

/** A file in an order. Its name cannot be a path. */
export const orderedFile = record({
  name: fileName(),
  text: z.string().check(z.refine(text => text.isWellFormed(), { error: 'must be valid Unicode' })),
});

/** The body of `POST /v1/runs`. Keys have the names of the flags of `proctor run suite`. */
export const suiteOrderShape = record({
  /** A name for the run; the server makes one by default. The server accepts the same order with the same name once. */
  run_id: z.optional(matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/, 'a run name')),
  as: z.enum(['baseline', 'new']),
  suite: z.optional(z.string().check(z.maxLength(100))),
  cases: orderedFile,
  base_url: z.optional(z.string().check(z.maxLength(2_000))),
  target: z.optional(orderedFile),
  script: z.optional(orderedFile),
  only: z.optional(z.array(z.string()).check(z.maxLength(10_000))),
  concurrency: z.optional(count()),
  timeout_ms: z.optional(count()),
  retries: z.optional(count()),
  limits: z.optional(askedLimits.shape.limits),
  provenance: z.optional(statedProvenance),
  strict_replies: z.optional(z.boolean()),
  queue: z.optional(z.boolean()),
  twice: z.optional(z.number().check(z.gt(0), z.lte(1))),
  headers: z.optional(z.array(record({ name: z.string(), env: variableName() })).check(z.maxLength(100))),
});

export type SuiteOrderBody = z.infer<typeof suiteOrderShape>;

/** The order of a suite, as the queue takes it. */
export function suiteOrderOf(body: SuiteOrderBody, by: string, key: string | null): NewOrder {
  const { cases, target, script } = body;
  const named = [cases, target && { ...target, name: `target-${target.name}` }, script].filter(
    one => one !== undefined,
  );
  const input: SuiteOrderInput = {
    lane: body.as,
    suite: {
      as: body.as,
      cases: cases.name,
      suite: body.suite,
      baseUrl: body.base_url,
      target: target && `target-${target.name}`,
      script: script?.name,
      only: body.only,
      concurrency: body.concurrency,
      timeoutMs: body.timeout_ms,
      retries: body.retries,
      limits: body.limits,
      provenance: body.provenance,
      strictReplies: body.strict_replies,
      queue: body.queue,
      twice: body.twice,
      headers: body.headers,
    },
  };
  return {
    id: body.run_id ?? newRunId('suite', systemClock),
    kind: 'suite',
    by,
    key,
    digest: contentHash(body),
    input: { ...input },
    files: named.map(({ name, text }) => ({ name, bytes: Buffer.from(text) })),
  };
}

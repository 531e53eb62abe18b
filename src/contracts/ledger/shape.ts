import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { side } from '../artifacts/words.ts';
import { profileShape } from '../profile/shape.ts';
import { RUN_KINDS } from '../seal/statement.ts';
import { contentHashText, instant, record } from '../shape.ts';

/** The result of an intent. */
const ledgerIntent = record({
  intent_sha256: contentHashText(),
  bundle_sha256: z.nullable(contentHashText()),
  result_kind: z.enum(['BUNDLE', 'CLARIFY', 'REFUSE']),
  accepted: z.boolean(),
  mode: z.enum(['plan-only', 'execute-sandbox']),
  /** The name of its profile. */
  policy: profileShape.shape.name,
});

export const ledgerLineShape = record({
  schema_version: z.literal('ledger-line.v1'),
  sequence: z.int().check(z.gte(1)),
  previous_sha256: z.nullable(contentHashText()),
  run_id: nameText(),
  kind: z.enum(RUN_KINDS),
  sealed_at: instant(),
  seal_sha256: contentHashText(),
  intent: z.nullable(ledgerIntent),
  /** The side of a suite run. Absent in lines that predate equal run ids on both sides. */
  version: z.optional(side()),
});

export type LedgerLine = z.infer<typeof ledgerLineShape>;

export type LedgerIntent = z.infer<typeof ledgerIntent>;

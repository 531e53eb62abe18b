import * as z from 'zod/mini';
import { count, record } from '../shape.ts';

export const scriptResultShape = record({
  contract_version: z.literal(1),
  status: z.enum(['succeeded', 'failed', 'timed_out']),
  html_output: z.string(),
  error_summary: z.nullable(z.string()),
  artifacts: z.array(record({ path: z.string(), bytes: count() })).check(z.maxLength(2_000)),
});

export type ScriptResult = z.infer<typeof scriptResultShape>;

import * as z from 'zod/mini';
import { profileShape } from '../profile/shape.ts';
import { contentHashText, count, filledText, instant, matching, record } from '../shape.ts';

const intentRef = record({ path: filledText(), sha256: contentHashText() });

const bundleRef = record({ bundle_id: filledText(), sha256: contentHashText() });

const sandboxExecution = record({
  sandbox_id: filledText(),
  cmd: z.array(z.string()),
  exit_code: z.int(),
  stdout_sha256: contentHashText(),
  stderr_sha256: contentHashText(),
  outputs: z.array(record({ path: filledText(), sha256: contentHashText(), size_bytes: count() })),
  total_output_bytes: count(),
  output_truncated: z.boolean(),
});

const decisionRecord = record({
  accepted: z.boolean(),
  reasons: z.array(z.string()),
  validated_by_kernel: z.literal(true),
});

export const runResultShape = record({
  run_schema_version: matching(/^1\.\d+\.\d+$/, 'a version 1.x.y'),
  run_id: filledText(),
  started_at: instant(),
  completed_at: instant(),
  kernel_version: filledText(),
  policy: profileShape,
  intent: intentRef,
  bundle: z.nullable(bundleRef),
  kernel_result_kind: z.enum(['BUNDLE', 'CLARIFY', 'REFUSE']),
  execution: z.nullable(sandboxExecution),
  decision: decisionRecord,
  model_mode: z.enum(['none', 'record', 'replay']),
  clarify_questions: z.optional(z.array(z.string()).check(z.minLength(1))),
  refuse_reason: z.optional(filledText()),
  sandbox_path: z.optional(z.string()),
  model_io_path: z.optional(z.string()),
});

export type RunResult = z.infer<typeof runResultShape>;

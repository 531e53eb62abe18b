import * as z from 'zod/mini';
import { record } from '../shape.ts';

/** How strongly a limit is enforced: for the whole run, by sampling, for each process separately, or not at all. */
export const CLAIMS = ['enforced', 'watched', 'per_process', 'absent'] as const;

export type LimitStrength = (typeof CLAIMS)[number];

const LIMIT_NAMES = [
  'timeout_ms',
  'idle_timeout_ms',
  'cpu_seconds',
  'cpus',
  'memory_bytes',
  'network_buffer_bytes',
  'unix_buffer_bytes',
  'netlink_buffer_bytes',
  'pipe_buffer_bytes',
  'processes',
  'open_files',
  'work_bytes',
  'work_entries',
  'output_files',
  'output_bytes',
] as const;

export type LimitName = (typeof LIMIT_NAMES)[number];

/** The limits of a run and how each was enforced. The value is null if the limit was not set. */
export const claimsShape = z
  .array(
    record({
      limit: z.enum(LIMIT_NAMES),
      value: z.nullable(z.number().check(z.gte(0))),
      claim: z.enum(CLAIMS),
    }),
  )
  .check(z.maxLength(100));

export type LimitClaim = z.infer<typeof claimsShape>[number];

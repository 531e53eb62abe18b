import * as z from 'zod/mini';
import { between, matching, record } from '../shape.ts';

export const limitShapes = {
  timeout_ms: between(1_000, 600_000),
  max_output_files: between(1, 10_000),
  max_total_output_bytes: between(1_024, 1_073_741_824),
};

export const profileShape = record({
  name: matching(/^[a-z][a-z0-9-]{0,63}$/, 'a name of lower-case letters, digits and hyphens, such as strict'),
  allow_network: z.boolean(),
  ...limitShapes,
  allowed_commands: z.array(z.string()),
  allowed_write_roots: z.array(z.string()),
});

export type Profile = z.infer<typeof profileShape>;

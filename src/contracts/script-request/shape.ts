import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { publishedVersion } from '../published-script/shape.ts';
import { contentHashText, count, matching, record, variableName, wordyText } from '../shape.ts';

const limit = () => z.int().check(z.gte(1));

/** An input file, by its bare name and without its folder. */
const file = () => record({ name: z.string(), sha256: contentHashText(), bytes: count() });

/** The requested limits; null for a default. runner.json has the effective ones. */
export const requestedShape = record({
  profile: z.nullable(wordyText()),
  sandbox: z.nullable(z.enum(['none', 'process', 'container', 'vm'])),
  isolation: z.nullable(z.enum(['strict', 'standard', 'none'])),
  timeout_ms: z.nullable(limit()),
  idle_timeout_ms: z.nullable(limit()),
  memory_bytes: z.nullable(limit()),
  cpu_seconds: z.nullable(limit()),
  cpus: z.optional(z.nullable(z.number().check(z.gt(0)))),
  pids: z.nullable(limit()),
  max_output_files: z.nullable(limit()),
  max_total_output_bytes: z.nullable(limit()),
});

export const scriptRequestShape = record({
  schema_version: z.literal('script-request.v1'),
  run_id: nameText(),
  kind: z.literal('script'),
  script: file(),
  interpreter: record({
    name: matching(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/, 'the bare name of a program such as python3'),
  }),
  /** Arguments, with secrets masked. */
  args: z.array(z.string()).check(z.maxLength(10_000)),
  inputs: z.array(file()).check(z.maxLength(1_000)),
  env_names: z.array(variableName()).check(z.maxLength(1_000)),
  secret_names: z.array(variableName()).check(z.maxLength(1_000)),
  requested: requestedShape,
  /** The version of a published script that this run belongs to. Absent in other runs. */
  published: z.optional(publishedVersion),
});

export type ScriptRequest = z.infer<typeof scriptRequestShape>;

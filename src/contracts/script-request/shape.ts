import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { contentHashText, count, matching, record, wordyText } from '../shape.ts';

const variableName = () => matching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable');

/** A limit that bounds something: a whole number from 1 up. */
const limit = () => z.int().check(z.gte(1));

/** A file as it was given to the run: by its bare name, never by where it lay. */
const file = () => record({ name: z.string(), sha256: contentHashText(), bytes: count() });

export const scriptRequestShape = record({
  schema_version: z.literal('script-request.v1'),
  run_id: nameText(),
  kind: z.literal('script'),
  script: file(),
  interpreter: record({
    name: matching(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/, 'the bare name of a program such as python3'),
  }),
  /** What the script was started with, secrets masked. */
  args: z.array(z.string()).check(z.maxLength(10_000)),
  inputs: z.array(file()).check(z.maxLength(1_000)),
  env_names: z.array(variableName()).check(z.maxLength(1_000)),
  secret_names: z.array(variableName()).check(z.maxLength(1_000)),
  /** What was asked for; null where the choice was left to Proctor. What came of it stands in runner.json. */
  requested: record({
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
  }),
});

export type ScriptRequest = z.infer<typeof scriptRequestShape>;

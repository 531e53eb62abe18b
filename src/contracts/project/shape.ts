import * as z from 'zod/mini';
import { checkShape, CHECKS_MAX } from '../checks/shape.ts';
import { gateKeys, gateMode, tolerances } from '../gate/shape.ts';
import { statedProvenance } from '../provenance.ts';
import { count, filledText, matching, record, variableName } from '../shape.ts';
import { declarationShape } from '../target/declaration.ts';
import { durationWord } from '../target/words.ts';

const positive = () => z.int().check(z.gte(1));

/** Names of targets and suites. They become names of folders. */
export const PROJECT_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const name = () => matching(PROJECT_NAME, 'a name of lower-case letters, digits, "-" and "_"');

/** The keys of targets that Proctor runs itself. */
const runKeys = {
  timeout: z.optional(durationWord()),
  idle_timeout: z.optional(durationWord()),
  retries: z.optional(count()),
  concurrency: z.optional(positive()),
  cpus: z.optional(z.number().check(z.gt(0), z.lte(1024))),
  provenance: z.optional(statedProvenance),
};

const scriptTarget = record({
  kind: z.literal('script'),
  file: filledText(),
  profile: z.optional(filledText()),
  sandbox: z.optional(z.enum(['process', 'none'])),
  isolation: z.optional(z.enum(['strict', 'standard', 'none'])),
  ...runKeys,
});

const agentTarget = record({
  kind: z.literal('agent'),
  agent: filledText(),
  /** A built-in policy or a file; read-only by default. */
  policy: z.optional(filledText()),
  /** The folder to work on. Every attempt gets a private clone of it. */
  dir: z.optional(filledText()),
  model: z.optional(filledText()),
  max_turns: z.optional(positive()),
  max_requests: z.optional(positive()),
  max_tokens: z.optional(positive()),
  max_cost_usd: z.optional(z.number().check(z.gt(0))),
  prices: z.optional(filledText()),
  model_mode: z.optional(z.enum(['live', 'record', 'replay'])),
  recordings: z.optional(filledText()),
  allow_untested_version: z.optional(z.boolean()),
  /** The commit, the mounts and the checks of every case. Paths are relative to the project file. */
  base: z.optional(filledText()),
  mounts: z.optional(z.array(filledText()).check(z.maxLength(20))),
  checks: z.optional(z.array(checkShape).check(z.minLength(1), z.maxLength(CHECKS_MAX))),
  ...runKeys,
});

const targetShape = z.union([...declarationShape.def.options, scriptTarget, agentTarget]);

/** The keys of a gate file. */
const gateBlock = record({
  mode: z.optional(gateMode()),
  tolerances: z.optional(tolerances),
  ...gateKeys,
});

/** Settings of a suite. Those at the top of the file apply to every suite that does not have its own. */
const defaults = {
  repeat: z.optional(positive()),
  concurrency: z.optional(positive()),
  retries: z.optional(count()),
  timeout: z.optional(durationWord()),
  idle_timeout: z.optional(durationWord()),
  strict_replies: z.optional(z.boolean()),
  /** A gate file, or its keys. */
  gate: z.optional(z.union([filledText(), gateBlock])),
  /** Environment variables whose values are masked. Scripts and agents also see them. */
  secrets: z.optional(z.array(variableName()).check(z.maxLength(100))),
};

const suiteShape = record({
  cases: filledText(),
  target: z.optional(name()),
  /** Two targets, run one after the other and compared. */
  sides: z.optional(record({ baseline: name(), new: name() })),
  only: z.optional(z.array(filledText()).check(z.minLength(1), z.maxLength(10_000))),
  ...defaults,
});

const REPORTS = ['html', 'junit', 'md', 'json', 'annotations', 'codequality'] as const;

export const projectShape = record({
  schema_version: z.literal('project.v1'),
  name: z.optional(filledText()),
  targets: z.record(z.string(), targetShape),
  suites: z.record(z.string(), suiteShape),
  /** The folder of accepted baselines; `proctor/baselines` by default. */
  baselines: z.optional(filledText()),
  reports: z.optional(z.array(z.enum(REPORTS)).check(z.minLength(1), z.maxLength(20))),
  ...defaults,
});

export type Project = z.infer<typeof projectShape>;
export type ProjectSuite = z.infer<typeof suiteShape>;
export type ProjectTarget = z.infer<typeof targetShape>;
export type ProjectGate = z.infer<typeof gateBlock>;

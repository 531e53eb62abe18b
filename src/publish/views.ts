import * as z from 'zod/mini';
import { publishedScriptShape, publishedVersion } from '../contracts/published-script/shape.ts';
import { withheldBecause } from './script-runs.ts';
import { contentHashText, count, instant, record, semver } from '../contracts/shape.ts';

/** A published script as end users see it: what its form needs, and nothing about its files. */
export const scriptCard = record({
  name: z.string(),
  version: semver(),
  title: z.string(),
  description: z.string(),
  inputs: publishedScriptShape.shape.inputs.def.innerType,
});

export type ScriptCard = z.infer<typeof scriptCard>;

/** A version of a script, for those who publish. */
const releaseView = record({
  version: semver(),
  digest: contentHashText(),
  state: z.enum(['draft', 'published', 'withdrawn']),
  is_current: z.boolean(),
  author: z.string(),
  at: instant(),
});

/** A script with all its versions, newest first, for those who publish. */
export const scriptListing = record({
  name: z.string(),
  title: z.nullable(z.string()),
  current: z.nullable(semver()),
  previous: z.nullable(semver()),
  versions: z.array(releaseView),
});

export type ScriptListing = z.infer<typeof scriptListing>;

/** `lost`: a worker made the run, and the server has no result that it can trust. */
export const SCRIPT_RUN_STATES = ['waiting', 'running', 'succeeded', 'failed', 'timed_out', 'stopped', 'lost'] as const;

/** A file that a run left. `withheld` files cannot be downloaded. */
const outputView = record({
  /** The address below /files/. */
  path: z.string(),
  /** The name to show and to store it under. */
  name: z.string(),
  bytes: count(),
  media_type: z.string(),
  state: z.enum(['offered', 'withheld', 'expired', 'being_checked']),
  /** The operator's scan rejected the file or could not check it; null if it is not withheld, or the record does not say. */
  withheld_because: z.nullable(withheldBecause),
});

export type OutputView = z.infer<typeof outputView>;

/** A run as its user sees it. It never contains logs, streams or paths of the server. */
export const scriptRunView = record({
  run_id: z.string(),
  script: record({ name: z.string(), version: semver(), title: z.string() }),
  state: z.enum(SCRIPT_RUN_STATES),
  /** 1 for the run that starts next; null if it does not wait or the position is unknown. */
  position: z.nullable(count()),
  /** What the run waits for, if it is not its turn: for example, a worker that may run the script. */
  waits_for: z.nullable(z.string()),
  ordered_at: instant(),
  started_at: z.nullable(instant()),
  ended_at: z.nullable(instant()),
  elapsed_ms: z.nullable(count()),
  progress: z.nullable(record({ percent: count(), text: z.nullable(z.string()) })),
  /** Not sanitized. A page must sanitize it and show it in a frame without rights. */
  html_output: z.nullable(z.string()),
  error_summary: z.nullable(z.string()),
  /** For those who may see all runs: which worker made the run, or why there is no result of it. */
  operator_note: z.nullable(z.string()),
  /** What the user tells an admin, who finds the log by it. */
  correlation_id: z.nullable(z.string()),
  files: z.array(outputView),
  /** The number of files that are not listed. */
  files_omitted: count(),
  outputs_expired_at: z.nullable(instant()),
});

export type ScriptRunView = z.infer<typeof scriptRunView>;

/** A row in a user's list of runs. */
export const scriptRunRow = record({
  run_id: z.string(),
  script: record({ name: z.string(), version: semver(), title: z.string() }),
  state: z.enum(SCRIPT_RUN_STATES),
  ordered_at: instant(),
  ended_at: z.nullable(instant()),
});

export type ScriptRunRow = z.infer<typeof scriptRunRow>;

/** What publishing a folder did. */
export const publishedView = record({
  ...publishedVersion.shape,
  state: z.enum(['draft', 'published']),
  /** False if the same version was there already. */
  is_new: z.boolean(),
  files: count(),
  bytes: count(),
});

export type PublishedView = z.infer<typeof publishedView>;

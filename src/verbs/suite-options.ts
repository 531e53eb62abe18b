import { Fault } from '../base/fault.ts';
import { formOf } from '../contracts/form.ts';
import { askedLimits } from '../contracts/gate/limits/shape.ts';
import { PROJECT_NAME } from '../contracts/project/shape.ts';
import { STATED_PROVENANCE, statedProvenance } from '../contracts/provenance.ts';
import { SHARDS_MAX } from '../contracts/suite/index.ts';
import type { AdoptOptions } from './adopt-suite.ts';
import type { CompareVersionsOptions } from './compare-versions.ts';
import type { CompareOptions } from './compare.ts';
import { refuseUnknown } from './options.ts';
import { checkQueueOptions, QUEUE_OPTIONS } from './queue-choice.ts';
import { checkTwice } from './twice-choice.ts';
import type { RunSuiteOptions } from './run-suite.ts';

/** Checks options at run time, because callers in JavaScript have no compiler to do it. */
export function checkSuiteOptions(options: RunSuiteOptions): void {
  refuseUnknown('runSuite', options, OPTIONS);
  if (typeof options?.cases !== 'string') throw new Fault('usage', 'runSuite requires cases: the path of a file.');
  if (options.as !== 'baseline' && options.as !== 'new') {
    throw new Fault('usage', 'Specify the side of the comparison: as must be "baseline" or "new".');
  }
  for (const name of [
    'agent',
    'policy',
    'dir',
    'model',
    'prices',
    'recordings',
    'base',
    'checksFile',
    'casesFolder',
  ] as const) {
    if (!['string', 'undefined'].includes(typeof options[name])) throw new Fault('usage', `${name} must be a string.`);
  }
  if (options.suite !== undefined && !(typeof options.suite === 'string' && PROJECT_NAME.test(options.suite)))
    throw new Fault('usage', 'suite must be a name of lower-case letters, digits, "-" and "_".');
  checkProvenance(options.provenance ?? {});
  checkQueueOptions(options);
  checkTwice(options);
  if (options.queue !== undefined && options.shard !== undefined)
    throw new Fault('usage', 'With a queue, workers share all cases. Omit --shard, or omit --queue.');
  for (const [name, isEntry] of LISTS) {
    const list: unknown = options[name] ?? [];
    if (!Array.isArray(list) || !list.every(isEntry))
      throw new Fault('usage', `${name} must be a list of objects with ${name === 'mounts' ? 'dir' : 'command'}.`);
  }
  checkShard(options.shard);
  const { headers = [], repeat = 1, modelMode = 'live' } = options;
  checkLimits(options?.limits);
  if (!['live', 'record', 'replay'].includes(modelMode))
    throw new Fault('usage', 'modelMode must be "live", "record" or "replay".');
  if (!Array.isArray(headers) || !headers.every(isHeader)) {
    throw new Fault('usage', 'headers must be a list of objects with name, env (the environment variable) and value.');
  }
  if (!Number.isSafeInteger(repeat) || repeat < 1 || repeat > REPEAT_MAX) {
    throw new Fault('usage', `repeat must be from 1 to ${REPEAT_MAX}.`);
  }
}

function checkShard(shard: RunSuiteOptions['shard']): void {
  if (shard === undefined) return;
  const { index, total } = shard;
  if ([index, total].every(Number.isSafeInteger) && index >= 1 && index <= total && total <= SHARDS_MAX) return;
  throw new Fault(
    'usage',
    `shard must have index and total, with index from 1 to total, and total at most ${SHARDS_MAX}.`,
  );
}

function checkProvenance(provenance: object): void {
  const names: readonly string[] = STATED_PROVENANCE;
  const isKnown = Object.keys(provenance).every(name => names.includes(name));
  if (isKnown && formOf(statedProvenance).fits(provenance)) return;
  throw new Fault(
    'usage',
    `Provenance must use the names ${names.join(', ')}, with values of 1 to 200 characters on one line, such as --provenance model=NAME.`,
  );
}

function checkLimits(limits: unknown): void {
  if (limits === undefined || formOf(askedLimits).fits({ limits })) return;
  throw new Fault('usage', `limits must be an object with ${LIMITS_TEXT}.`);
}

const LIMITS_TEXT =
  'min_pass_rate, a number from 0 to 1, the counts max_failing, max_flaky, max_unjudged and max_missing, max_cost_usd or max_latency_ms';

export function checkCompareOptions(options: CompareOptions): void {
  refuseUnknown('compareRuns', options, COMPARE_OPTIONS);
  checkLimits(options?.limits);
  for (const side of ['baseline', 'candidate'] as const) {
    if (typeof options?.[side] === 'string') continue;
    throw new Fault('usage', `compareRuns requires ${side}: a run, or a word such as "baseline", "new" or "latest".`);
  }
}

export function checkVersionOptions(options: CompareVersionsOptions): void {
  refuseUnknown('compareVersions', options, VERSION_OPTIONS);
  checkLimits(options?.limits);
  if (Array.isArray(options?.versions) && options.versions.every(isVersion)) return;
  throw new Fault('usage', 'compareVersions requires versions: a list of objects with run and, if you want, name.');
}

function isVersion(version: unknown): boolean {
  if (typeof version !== 'object' || version === null) return false;
  const { run, name } = version as { run?: unknown; name?: unknown };
  return typeof run === 'string' && ['string', 'undefined'].includes(typeof name);
}

function isHeader(header: unknown): boolean {
  if (typeof header !== 'object' || header === null) return false;
  return ['name', 'env', 'value'].every(key => typeof (header as Record<string, unknown>)[key] === 'string');
}

const LISTS = [
  ['mounts', (one: unknown): boolean => typeof (one as { dir?: unknown } | null)?.dir === 'string'],
  ['checks', (one: unknown): boolean => typeof (one as { command?: unknown } | null)?.command === 'string'],
] as const;

const REPEAT_MAX = 100;

/** What names a target and its variables, for a new run or a resumed one. */
export const TARGET_OPTIONS: Record<keyof AdoptOptions, true> = {
  baseUrl: true,
  target: true,
  script: true,
  agent: true,
  policy: true,
  dir: true,
  model: true,
  maxTurns: true,
  maxRequests: true,
  maxTokens: true,
  maxCostUsd: true,
  prices: true,
  modelMode: true,
  recordings: true,
  allowUntestedVersion: true,
  base: true,
  mounts: true,
  checks: true,
  checksFile: true,
  environment: true,
  bounds: true,
  headers: true,
  secrets: true,
  redirects: true,
  strictReplies: true,
};

const OPTIONS: Record<keyof RunSuiteOptions, true> = {
  ...TARGET_OPTIONS,
  provenance: true,
  cases: true,
  as: true,
  suite: true,
  project: true,
  casesFolder: true,
  out: true,
  runId: true,
  only: true,
  shard: true,
  repeat: true,
  gate: true,
  limits: true,
  keepCredentials: true,
  cwd: true,
  signingKey: true,
  signal: true,
  onProgress: true,
  onVerdict: true,
  onWarning: true,
  tracer: true,
  onFolder: true,
  backoffMs: true,
  breakerPausesMs: true,
  ...QUEUE_OPTIONS,
  twice: true,
  timeoutMs: true,
  idleMs: true,
  retries: true,
  concurrency: true,
  bodyBytesMax: true,
  snippetBytesMax: true,
  payloadInlineBytesMax: true,
  breakerFailures: true,
};

const COMPARE_OPTIONS: Record<keyof CompareOptions, true> = {
  baseline: true,
  candidate: true,
  gate: true,
  mode: true,
  allowRemoved: true,
  allowWeakened: true,
  limits: true,
  formats: true,
  cases: true,
  out: true,
  rejudge: true,
  again: true,
  key: true,
  signingKey: true,
  cwd: true,
  signal: true,
};

const VERSION_OPTIONS: Record<keyof CompareVersionsOptions, true> = {
  versions: true,
  allPairs: true,
  gate: true,
  mode: true,
  allowRemoved: true,
  allowWeakened: true,
  limits: true,
  formats: true,
  out: true,
  rejudge: true,
  key: true,
  signingKey: true,
  cwd: true,
  signal: true,
};

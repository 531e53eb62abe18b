/** Proctor as a library: its commands as functions. Importing it is cheap, because each function loads its code on first use. */
import type * as apply from './apply.ts';
import type * as baseline from './baseline.ts';
import type * as compare from './compare.ts';
import type * as versions from './compare-versions.ts';
import type * as merging from './merge.ts';
import type * as pack from './pack.ts';
import type * as recovery from './recover.ts';
import type * as reproduction from './reproduce.ts';
import type * as resume from './resume-suite.ts';
import type * as agent from './run-agent.ts';
import type * as attempts from './run-attempts.ts';
import type * as intent from './run-intent.ts';
import type * as script from './run-script.ts';
import type * as suite from './run-suite.ts';
import type * as testing from './test/test-project.ts';
import type * as traces from './tracing.ts';
import type * as unpacking from './unpack.ts';

export { Fault } from '../base/fault.ts';
export { useStateFolder } from '../base/state-folder.ts';
export { runErrorOf } from './run-error.ts';
export type { AppliedRun, ApplyOptions } from './apply.ts';
export type { Compared, CompareOptions } from './compare.ts';
export type { ComparedVersions, CompareVersionsOptions } from './compare-versions.ts';
export type { MergedRun, MergeOptions, MergeResult } from './merge.ts';
export type { PackedRun, PackOptions } from './pack.ts';
export type { Recovered } from './recover.ts';
export type { Reproduction } from './reproduce.ts';
export type { AgentRunResult, RunAgentOptions } from './run-agent.ts';
export type { AttemptsResult, RunAttemptsOptions } from './run-attempts.ts';
export type { IntentRunResult, RunIntentOptions } from './run-intent.ts';
export type { RunScriptOptions, ScriptRunResult } from './run-script.ts';
export type { RunSuiteOptions, SuiteRunResult } from './run-suite.ts';
export type { TestOptions, TestResult } from './test/test-project.ts';
export type { Tracing } from './tracing.ts';
export type { UnpackedRun, UnpackOptions } from './unpack.ts';

/** Runs a script inside limits that Proctor enforces, and seals the evidence. */
export const runScript: typeof script.runScript = async options => (await import('./run-script.ts')).runScript(options);

/** Exports OpenTelemetry spans, if the variables ask for it. */
export const openTracing: typeof traces.openTracing = async (environment, warn) =>
  (await import('./tracing.ts')).openTracing(environment, warn);

/** Runs an agent on a task in a private clone, under a policy that Proctor enforces, and seals the evidence. */
export const runAgent: typeof agent.runAgent = async options => (await import('./run-agent.ts')).runAgent(options);

/** Runs several attempts at one task side by side, and ranks them by checks, diff and cost. */
export const runAttempts: typeof attempts.runAttempts = async options =>
  (await import('./run-attempts.ts')).runAttempts(options);

/** Applies an agent's changes to a work tree if its run verifies and did not violate its policy. It never commits. */
export const applyRun: typeof apply.applyRun = async (run, options) =>
  (await import('./apply.ts')).applyRun(run, options);

/** Decides on an intent, executes the plan in mode `execute-sandbox`, and seals the evidence. */
export const runIntent: typeof intent.runIntent = async options => (await import('./run-intent.ts')).runIntent(options);

/** Runs an intent again from its run folder and compares the results. */
export const reproduce: typeof reproduction.reproduce = async (word, options) =>
  (await import('./reproduce.ts')).reproduce(word, options);

/** Sends every case of a suite to its target, judges the answers and seals the evidence. */
export const runSuite: typeof suite.runSuite = async options => (await import('./run-suite.ts')).runSuite(options);

/** Runs the suites of a project file, compares each with its baseline, and decides. */
export const testProject: typeof testing.testProject = async options =>
  (await import('./test/test-project.ts')).testProject(options);

/** Resumes an interrupted suite. */
export const resumeSuite: typeof resume.resumeSuite = async (word, options) =>
  (await import('./resume-suite.ts')).resumeSuite(word, options);

/** Joins the parts of suites that ran with `shard` into whole, sealed runs. */
export const mergeRuns: typeof merging.mergeRuns = async options => (await import('./merge.ts')).mergeRuns(options);

/** Decides whether the candidate is worse than its baseline, and writes the reasons to a sealed folder. */
export const compareRuns: typeof compare.compareRuns = async options =>
  (await import('./compare.ts')).compareRuns(options);

/** Judges every pair of two to eight versions, and writes a report. It seals nothing. */
export const compareVersions: typeof versions.compareVersions = async options =>
  (await import('./compare-versions.ts')).compareVersions(options);

/** Writes an accepted baseline: a small sealed document to commit, and its pack. */
export const acceptBaseline: typeof baseline.acceptBaseline = async (word, out, cwd, options) =>
  (await import('./baseline.ts')).acceptBaseline(word, out, cwd, options);

/** Packs a run into one file. Only a run that verifies is packed. */
export const packRun: typeof pack.packRun = async (run, options) => (await import('./pack.ts')).packRun(run, options);

/** Extracts the run folder from a pack if the pack verifies. */
export const unpack: typeof unpacking.unpack = async (file, options) =>
  (await import('./unpack.ts')).unpack(file, options);

/** Completes interrupted runs that you started on this machine, and removes what they left behind. */
export const recover: typeof recovery.recover = async (cwd, options) =>
  (await import('./recover.ts')).recover(cwd, options);

/** Proctor as a library: the same verbs as on the command line. */
export { Fault } from '../base/fault.ts';
export { useStateFolder } from '../base/state-folder.ts';
export { type AppliedRun, type ApplyOptions, applyRun } from './apply.ts';
export { acceptBaseline } from './baseline.ts';
export { type Compared, type CompareOptions, compareRuns } from './compare.ts';
export { type Reproduction, reproduce } from './reproduce.ts';
export { type AgentRunResult, runAgent, type RunAgentOptions } from './run-agent.ts';
export { runErrorOf } from './run-error.ts';
export { type IntentRunResult, runIntent, type RunIntentOptions } from './run-intent.ts';
export { type PackedRun, type PackOptions, packRun } from './pack.ts';
export { runScript, type RunScriptOptions, type ScriptRunResult } from './run-script.ts';
export { resumeSuite } from './resume-suite.ts';
export { runSuite, type RunSuiteOptions, type SuiteRunResult } from './run-suite.ts';
export { recover, type Recovered } from './recover.ts';
export { unpack, type UnpackedRun, type UnpackOptions } from './unpack.ts';

/** Proctor as a library: the same verbs as on the command line. */
export { Fault } from '../base/fault.ts';
export { runScript, type RunScriptOptions, type ScriptRunResult } from './run-script.ts';
export { recover, type Recovered } from './recover.ts';

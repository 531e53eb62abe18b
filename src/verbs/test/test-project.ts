import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { Shard } from '../../contracts/suite/index.ts';
import { findProjectFile, type ProjectFile, readProjectFile } from '../../run/project/project-file.ts';
import type { AskAgainOptions } from '../ask-again.ts';
import type { RunSuiteOptions } from '../run-suite.ts';
import type { MergedSuites } from './part-tests.ts';
import { type SuiteTest, suitesOf, type TestOverrides } from './suite-test.ts';
import { faultOf, type SuiteTested, testSuite } from './test-suite.ts';

/** A test of a project: its suites, what overrides the file, and callbacks. */
export interface TestOptions extends TestOverrides {
  /** The suites to test; all by default. */
  readonly suites?: readonly string[];
  /** The project file; by default `proctor.yaml` here or in a folder above. */
  readonly config?: string;
  /** Makes the result the baseline, if every case has an answer and every limit is met. */
  readonly accept?: boolean;
  /** The folder for the reports, one folder per suite; `.proctor/reports/test` by default. */
  readonly out?: string;
  /** Runs one part of each suite, and packs it. A part decides nothing. */
  readonly shard?: Shard;
  /** Decides on parts that other machines ran with `shard`: packs, folders with packs, run folders or run ids. */
  readonly parts?: readonly string[];
  /** With parts: public keys, one of which must have signed each part; the project's key by default. */
  readonly keys?: readonly string[];
  readonly cwd?: string;
  readonly environment?: RunSuiteOptions['environment'];
  readonly tracer?: RunSuiteOptions['tracer'];
  readonly signingKey?: string;
  readonly signal?: AbortSignal;
  readonly onSuite?: (suite: SuiteTest) => void;
  readonly onTested?: (tested: SuiteTested) => void;
  readonly onProgress?: RunSuiteOptions['onProgress'];
  readonly onVerdict?: RunSuiteOptions['onVerdict'];
  readonly onFolder?: RunSuiteOptions['onFolder'];
  readonly onRound?: AskAgainOptions['onRound'];
  readonly onWarning?: RunSuiteOptions['onWarning'];
}

export interface TestResult {
  readonly suites: readonly SuiteTested[];
  /** The most serious exit code of the suites: 2 before 1, 1 before 3, 3 before 0. */
  readonly exitCode: 0 | 1 | 2 | 3;
}

/** Runs the suites of a project one after the other, and decides on each. */
export async function testProject(options: TestOptions): Promise<TestResult> {
  const file = projectFor(options);
  const suites = suitesOf(file, options.suites ?? [], options);
  if (options.accept) refuseToAccept(suites, options);
  refuseTogether(options);
  const merged = options.parts && (await mergedOrFault(options.parts, file, options));
  const tested: SuiteTested[] = [];
  for (const suite of suites) {
    options.onSuite?.(suite);
    const one = merged instanceof Fault ? notTested(suite, merged) : await testSuite(suite, file, options, merged);
    tested.push(one);
    options.onTested?.(one);
    if (options.signal?.aborted) break;
  }
  const codes = tested.map(({ exitCode }) => exitCode);
  // A suite that was not tested because of an interrupt did not pass.
  return { suites: tested, exitCode: worstOf(tested.length < suites.length ? [...codes, 1] : codes) };
}

/** Merges the parts of all suites. Every suite then reports the same fault. */
async function mergedOrFault(
  parts: readonly string[],
  file: ProjectFile,
  options: TestOptions,
): Promise<MergedSuites | Fault> {
  try {
    const { MergedSuites: merged } = await import('./part-tests.ts');
    return await merged.from(parts, file, options);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function notTested({ name, target }: SuiteTest, fault: Fault): SuiteTested {
  const nothing = { run: null, comparison: null, subject: null, reports: {}, accepted: null, parts: [] };
  return { name, target, ...nothing, ...faultOf(fault) };
}

/** Refuses options that would have no effect. */
function refuseTogether(options: TestOptions): void {
  if (options.shard && (options.accept || options.parts))
    throw new Fault('usage', 'A part decides nothing. Use --shard without --accept and --parts.');
  const late = options.parts && OF_RUNS.find(key => options[key] !== undefined);
  if (late !== undefined)
    throw new Fault(
      'usage',
      `The parts have run already, so ${late} has no effect. Specify it with --shard, or in proctor.yaml.`,
    );
}

const OF_RUNS = ['only', 'repeat', 'concurrency', 'retries', 'timeoutMs', 'idleMs', 'strictReplies', 'limits'] as const;

function refuseToAccept(suites: readonly SuiteTest[], { only }: TestOptions): void {
  if (only !== undefined)
    throw new Fault(
      'usage',
      'Use either --accept or --only: a baseline of some cases would no longer protect the others.',
    );
  const compared = suites.find(({ baselineTarget }) => baselineTarget !== undefined);
  if (compared)
    throw new Fault(
      'usage',
      `The suite ${compared.name} runs both sides, so it has no baseline to accept. Name the other suites: proctor test SUITE --accept.`,
    );
}

/** The project file in the options, else the nearest one. */
export function projectFor({ config, cwd = process.cwd() }: Pick<TestOptions, 'config' | 'cwd'>): ProjectFile {
  const file = config === undefined ? findProjectFile(cwd) : path.resolve(cwd, config);
  if (file === undefined)
    throw new Fault('no_project', 'There is no proctor.yaml here or above. Create one with proctor init.');
  return readProjectFile(file);
}

function worstOf(codes: readonly TestResult['exitCode'][]): TestResult['exitCode'] {
  return ([2, 1, 3] as const).find(code => codes.includes(code)) ?? 0;
}

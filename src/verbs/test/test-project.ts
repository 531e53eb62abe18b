import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { findProjectFile, type ProjectFile, readProjectFile } from '../../run/project/project-file.ts';
import type { AskAgainOptions } from '../ask-again.ts';
import type { RunSuiteOptions } from '../run-suite.ts';
import { type SuiteTest, suitesOf, type TestOverrides } from './suite-test.ts';
import { type SuiteTested, testSuite } from './test-suite.ts';

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
  readonly cwd?: string;
  readonly environment?: RunSuiteOptions['environment'];
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
  const tested: SuiteTested[] = [];
  for (const suite of suites) {
    options.onSuite?.(suite);
    const one = await testSuite(suite, file, options);
    tested.push(one);
    options.onTested?.(one);
    if (options.signal?.aborted) break;
  }
  return { suites: tested, exitCode: worstOf(tested.map(({ exitCode }) => exitCode)) };
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

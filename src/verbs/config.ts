import type { DecidedSetting, TestOverrides } from './test/suite-test.ts';
import { suitesOf } from './test/suite-test.ts';
import { projectFor, type TestOptions } from './test/test-project.ts';

/** The effective settings of a suite, each with its origin. */
export interface SuiteConfig {
  readonly name: string;
  readonly settings: readonly DecidedSetting[];
}

/** What `proctor test` would use for each suite, and where each value comes from. Runs nothing. */
export function projectConfig(options: Pick<TestOptions, 'suites' | 'config' | 'cwd'> & TestOverrides): {
  readonly file: string;
  readonly suites: readonly SuiteConfig[];
} {
  const file = projectFor(options);
  const suites = suitesOf(file, options.suites ?? [], options);
  return { file: file.name, suites: suites.map(({ name, settings }) => ({ name, settings })) };
}

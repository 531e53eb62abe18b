import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { CheckResult } from '../../src/contracts/check-result/index.ts';
import type { AgentRan, AgentWorld } from '../run/agent/world.ts';

/** A project with a bug, two tests and a runner script. */
export const PROJECT: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'sum', type: 'module', scripts: { test: 'sh run-tests.sh' } }, null, 2)}\n`,
  'run-tests.sh':
    'set -e\nmkdir -p reports\nexec node --test --test-reporter=junit --test-reporter-destination=reports/junit.xml tests/*.test.js\n',
  'src/add.js': 'export const add = (a, b) => a - b;\n',
  'tests/equal.js': "export function equal(a, b) {\n  if (a !== b) throw new Error('got ' + a + ', not ' + b);\n}\n",
  'tests/add.test.js':
    "import { test } from 'node:test';\nimport { add } from '../src/add.js';\nimport { equal } from './equal.js';\ntest('adds two numbers', () => equal(add(2, 3), 5));\ntest('adds zero', () => equal(add(4, 0), 4));\n",
};

export const FIX = "printf 'export const add = (a, b) => a + b;\\n' > src/add.js";

/** The task of a stand-in that runs a shell command. */
export function doing(command: string): string {
  return `DO=sh:${Buffer.from(command).toString('hex')}`;
}

export interface CheckRan extends AgentRan {
  readonly checks: readonly CheckResult[];
  readonly raised: readonly string[];
}

/** Runs a stand-in that executes `command`, and then the checks. */
export function checked(world: AgentWorld, command: string, flags: readonly string[]): CheckRan {
  const ran = world.run('claude', doing(command), flags);
  const { checks, flags: raised } = ran.answer as unknown as { checks: CheckResult[]; flags: { flag: string }[] };
  return { ...ran, checks, raised: raised.map(({ flag }) => flag) };
}

export function storedCheck(folder: string, name: string): CheckResult {
  return JSON.parse(
    readFileSync(path.join(folder, `evidence/steps/check-${name}/check_result.json`), 'utf8'),
  ) as CheckResult;
}

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunError } from '../../../src/contracts/run-error/index.ts';
import type { RunResult } from '../../../src/contracts/run-result/index.ts';
import { place } from '../../support/runs.ts';
import { decided, fault, questionsIn } from './world.ts';

const FOLDER = path.join(import.meta.dirname, '../../fixtures/intents');
const MODES = ['plan-only', 'execute-sandbox'] as const;

/** The decision for each intent: a plan, question keys, or an error. Both modes agree. */
const EXPECTED: Readonly<Record<string, readonly string[] | 'BUNDLE' | 'RUN_E003'>> = {
  specification: ['commands'],
  'data-model': ['commands'],
  'patch-validation': ['commands'],
  'patch-retry': 'BUNDLE',
  'scaffold-service': ['commands'],
  'scaffold-package': ['package'],
  'runbook-failover': ['commands'],
  'runbook-restore': 'BUNDLE',
  'empty-goal': 'RUN_E003',
  contradiction: ['constraints[2] or constraints[0]', 'constraints[4] or constraints[3]', 'commands'],
};

/** Text that people must see. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  'scaffold-package': ['<package>'],
  contradiction: [
    '"The export must be JSON" and "The export must be CSV"',
    '"Must be synchronous" and "Must be asynchronous"',
  ],
};

test('every fixture has a recorded decision', () => {
  const names = readdirSync(FOLDER).map(file => path.basename(file, '.json'));
  expect(names.sort()).toEqual(Object.keys(EXPECTED).sort());
});

describe.each(Object.entries(EXPECTED))('the intent %s', (name, expected) => {
  const text = readFileSync(path.join(FOLDER, `${name}.json`), 'utf8');

  test.each(MODES)('has its recorded decision in mode %s', mode => {
    if (expected === 'RUN_E003') {
      expect(fault(() => decided(JSON.parse(text), { mode }))).toMatch(/^RUN_E003: /);
      return;
    }
    const decision = decided(JSON.parse(text), { mode });
    expect(decision.kind === 'BUNDLE' ? 'BUNDLE' : questionsIn(decision)).toEqual(expected);
  });
});

describe('at the command line', () => {
  test.each(Object.entries(EXPECTED))('%s has its recorded outcome and exit code', (name, expected) => {
    const here = place();
    here.file(`${name}.json`, readFileSync(path.join(FOLDER, `${name}.json`), 'utf8'));
    const { code, stdout, stderr } = here.proctor(['run', 'intent', `${name}.json`]);
    const document = JSON.parse(stdout) as RunResult & RunError;
    if (expected === 'RUN_E003') {
      expect([code, document.code, document.rule_id]).toEqual([2, 'RUN_E003', 'IN2']);
      return;
    }
    const { kernel_result_kind: kind, decision, clarify_questions: questions = [] } = document;
    const isPlan = expected === 'BUNDLE';
    expect([code, kind, decision.accepted]).toEqual(isPlan ? [0, 'BUNDLE', true] : [1, 'CLARIFY', false]);
    expect(questions.map(question => question.split(': ')[0])).toEqual(isPlan ? [] : expected);
    if (expected.at(-1) === 'commands') expect(questions.at(-1)).toMatch(/What makes it so\? .*--planner/);
    for (const words of NAMED[name] ?? []) expect(stderr).toContain(words);
  });
});

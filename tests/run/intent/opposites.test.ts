import { describe, expect, test } from 'vitest';
import { contradictionsIn } from '../../../src/run/intent/constraints.ts';
import { decided, questionsIn } from './world.ts';

const pairsIn = (constraints: readonly string[]): string[] =>
  contradictionsIn({ goal: 'g', constraints: [...constraints] }).map(({ index, against }) => `${index} ${against}`);

describe('constraints contradict each other', () => {
  test.each<[string, string]>([
    ['The service must log requests', 'The service must not log requests.'],
    ['Always log requests', 'Never log requests'],
    ['Must log requests', 'Do not log requests'],
    ['must never retry', 'should retry'],
    ['Must be synchronous', 'Must be asynchronous'],
    ['The API must be stateless', 'The API must be stateful'],
    ['The file must be read-only', 'The file must be writable'],
    ['Output must be JSON', 'Output must be valid YAML'],
    ['The report must be in Markdown format', 'The report must be written in HTML'],
    ['Must use only npm', 'Must also use yarn'],
    ['Only support Linux', 'Also support Windows'],
    ['Retry at most 3 times', 'Retry at least 5 times'],
    ['Must have exactly two replicas', 'Must have exactly three replicas'],
    ['Output must be a single runbook.md file', 'Must produce two files'],
    ['Output must be a single runbook.md file', 'Must also write rollback.md'],
    ['Write only one file', 'Must write at least 2 files'],
    ['Must generate exactly one file', 'Outputs must be plan.md and notes.md'],
  ])('%j and %j', (first, second) => {
    expect(pairsIn([first, second])).toEqual(['1 constraints[0]']);
    expect(pairsIn([second, 'Must be small', first])).toEqual(['2 constraints[0]']);
  });
});

describe('constraints do not contradict each other', () => {
  test.each<[string, string]>([
    ['Must accept JSON', 'Must accept YAML'],
    ['The config must be JSON', 'The report must be YAML'],
    ['The API must be public', 'The key must be private'],
    ['name must be required', 'email must be optional'],
    ['The service must log requests', 'The service must not log bodies'],
    ['The client must retry', 'The server must not retry'],
    ['Must use only npm', 'Must use strict mode'],
    ['Only support Linux', 'Also document Windows'],
    ['Must only return JSON', 'Must also log errors'],
    ['Retry at most 3 times', 'Retry at least 2 times'],
    ['Retry uploads at most 3 times', 'Retry downloads at least 5 times'],
    ['At most 3 retries', 'At least 5 tests'],
    ['Output must be a single runbook.md file', 'Must write the rollback steps into runbook.md'],
    ['Output must be a single runbook.md file', 'Must create backup.sql before the migration'],
    ['Output must be a single runbook.md file', 'Must read two files'],
    ['Must write two files', 'Outputs must be plan.md and notes.md'],
    ['Must be fast', 'Must be small'],
    ['Must return HTTP 400 for invalid input', 'Must return HTTP 200 for valid input'],
    ['Must not write secrets.json', 'Output must be a single file'],
    ['must', 'must not'],
  ])('%j and %j', (first, second) => {
    expect(pairsIn([first, second])).toEqual([]);
    expect(pairsIn([second, first])).toEqual([]);
  });
});

test('a question names both constraints, and either answer resolves it', () => {
  const intent = {
    goal: 'g',
    constraints: ['Output must be JSON', 'Output must be YAML'],
    files: [{ path: 'a', content: '' }],
  };
  const decision = decided(intent);
  expect(decision.kind === 'CLARIFY' && decision.questions).toEqual([
    'constraints[1] or constraints[0]: They contradict each other: "Output must be JSON" and "Output must be YAML", because one excludes the other. Which of the two holds? Answer with "constraints[1]" or "constraints[0]".',
  ]);
  for (const [index, kept] of intent.constraints.entries()) {
    const answers = { 'constraints[1] or constraints[0]': `constraints[${index}]` };
    expect(decided(intent, { answers })).toMatchObject({ kind: 'BUNDLE', intent: { constraints: [kept] } });
  }
});

test('a constraint with a host path is named by its position only', () => {
  const constraints = ['Must read /data/customers.csv', 'Must not read /data/customers.csv'];
  const decision = decided({ goal: 'g', constraints });
  expect(questionsIn(decision)).toEqual(['constraints[1] or constraints[0]', 'commands']);
  expect(JSON.stringify(decision.kind === 'CLARIFY' && decision.questions)).not.toContain('/data');
});

test('a single file and several outputs contradict each other', () => {
  const outputs = ['out/runbook.md', 'out/notes.md'];
  const constraints = ['Output must be a single runbook.md file'];
  expect(contradictionsIn({ goal: 'g', constraints, outputs }).map(({ against }) => against)).toEqual(['outputs']);
  expect(contradictionsIn({ goal: 'g', constraints, outputs: ['out/runbook.md'] })).toEqual([]);
});

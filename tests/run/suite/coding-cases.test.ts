import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AskedTarget } from '../../../src/run/suite/case-findings.ts';
import { readCases } from '../../../src/run/suite/cases-file.ts';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { temporaryFolder } from '../../support/support.ts';
import { casesIn, faultsIn, faultsOf } from './cases-world.ts';

const yaml = (...lines: string[]): string => lines.join('\n');

describe('defaults of a case file', () => {
  const file = yaml(
    'dir: tasks/parser',
    'ref: v1',
    'policy: edit',
    'limits: { timeout: 5m, max_turns: 20 }',
    'checks:',
    '  - { name: hidden, command: npm test, overlay: hidden, report: out/junit.xml }',
    'cases:',
    '  - id: plain',
    '  - id: own',
    '    repository: tasks/other.bundle',
    '    policy: read-only',
    '    limits: { timeout: 1m }',
    '    checks: [{ command: npm run lint }]',
  );

  test('apply to every case, unless the case has the key', () => {
    const [plain, own] = casesIn('cases.yaml', file);
    expect(plain).toMatchObject({ dir: 'tasks/parser', ref: 'v1', policy: 'edit', limits: { max_turns: 20 } });
    expect(plain?.checks?.map(({ name }) => name)).toEqual(['hidden']);
    expect(own).toMatchObject({ repository: 'tasks/other.bundle', policy: 'read-only', limits: { timeout: '1m' } });
    expect(own?.limits).not.toHaveProperty('max_turns');
  });

  test('add their checks to those of a case, and drop dir and ref if the case names a repository', () => {
    const own = casesIn('cases.yaml', file)[1];
    expect(own?.checks?.map(({ command }) => command)).toEqual(['npm test', 'npm run lint']);
    expect(own).not.toHaveProperty('dir');
    expect(own).not.toHaveProperty('ref');
  });

  test('mean the same in JSON', () => {
    const json = {
      model: 'small',
      checks: [{ command: 'npm test' }],
      cases: [
        { id: 'a', checks: [{ command: 'true' }] },
        { id: 'b', model: 'large' },
      ],
    };
    const [a, b] = casesIn('cases.json', JSON.stringify(json));
    expect(a).toMatchObject({ model: 'small', checks: [{ command: 'npm test' }, { command: 'true' }] });
    expect(b).toMatchObject({ model: 'large', checks: [{ command: 'npm test' }] });
  });

  test('are reported once, with their line, if they are wrong', () => {
    expect(faultsIn('cases.yaml', yaml('cases: [{ id: a }, { id: b }]', 'dir: /srv/parser'))).toEqual([
      'line 2: dir must be a path relative to the case file, but is absolute',
    ]);
  });

  test('are limited in size, because every case stores them', () => {
    const checks = [{ command: `true ${'x'.repeat(70_000)}` }];
    expect(faultsIn('cases.json', JSON.stringify({ checks, cases: [{ id: 'a' }] }))).toEqual([
      'line 1: The defaults of the file are larger than 64 KiB',
    ]);
  });
});

describe('reads the keys of a coding case', () => {
  test('from a CSV table', () => {
    const csv = 'id,dir,policy,setup,checks\na,tasks/a,edit,npm ci,"[{""command"":""npm test""}]"\n';
    expect(casesIn('cases.csv', csv)).toMatchObject([
      { dir: 'tasks/a', policy: 'edit', setup: 'npm ci', checks: [{ command: 'npm test' }] },
    ]);
  });

  test('from JSON lines', () => {
    expect(casesIn('cases.jsonl', '{"id":"a","files":"tasks/a","setup":{"command":"npm ci","timeout":"2m"}}')).toEqual([
      expect.objectContaining({ files: 'tasks/a', setup: { command: 'npm ci', timeout: '2m' } }),
    ]);
  });
});

describe('a coding case', () => {
  const parents = { id: 'a', dir: '../tasks' };

  test.each([
    ['an absolute folder', { dir: '/srv/x' }, 'dir must be a path relative to the case file, but is absolute'],
    [
      'a home folder',
      { policy: '~/p.yaml' },
      'policy must be a path relative to the case file, but starts with a home',
    ],
    ['an absolute mount', { mounts: ['a', '/b:c'] }, 'mounts[1] must be a path relative to the case file'],
    ['an absolute overlay', { checks: [{ command: 'x', overlay: '/h' }] }, 'checks[0].overlay must be a path relative'],
    ['a folder and a repository', { dir: 'a', repository: 'b' }, 'repository must not be combined with dir'],
    ['a ref that looks like a flag', { ref: '--all' }, 'ref must be the name of a commit'],
    ['two checks of one name', { checks: [{ command: 'x' }, { name: 'check-1', command: 'y' }] }, 'is a duplicate'],
    ['an unknown limit', { limits: { max_turn: 1 } }, 'limits.max_turn is an unknown key'],
    ['an empty tests expectation', { expected: { tests: {} } }, 'expected.tests must have passed_min or failed_max'],
    ['an empty list of checks', { expected: { check: [] } }, 'expected.check must have 1 to 20 names'],
  ])('is refused with %s', (_, keys, says) => {
    const [fault] = faultsIn('cases.json', JSON.stringify([{ id: 'a', ...keys }]));
    expect(fault).toContain(says);
  });

  test('may name a path above the folder of its file, because the path is still relative', () => {
    expect(casesIn('cases.json', JSON.stringify([parents]))).toMatchObject([{ dir: '../tasks' }]);
  });

  test('is refused with a check that has the name of a default check, and the message names its line', () => {
    const text = yaml(
      'checks: [{ name: unit, command: npm test }]',
      'cases:',
      '  - id: a',
      '    checks:',
      '      - command: npm run lint',
      '      - name: unit',
      '        command: npm run unit',
    );
    expect(faultsIn('cases.yaml', text)).toEqual(['line 6: cases[0].checks[1].name is a duplicate']);
  });
});

describe('for a known target, refuses', () => {
  const asked = (target: AskedTarget, text: string): string[] => faultsOf(() => casesFor(target, text));

  test('coding keys if the target is not an agent, and names each default only once', () => {
    const text = yaml('policy: edit', 'cases:', '  - id: a', '    dir: tasks/a', '  - id: b');
    expect(asked({ kind: 'http' }, text)).toEqual([
      'line 1: policy requires an agent as the target (--agent claude or --agent codex)',
      'line 4: cases[0].dir requires an agent as the target (--agent claude or --agent codex)',
    ]);
  });

  test('an expectation about a check that does not exist, with its line', () => {
    const text = yaml(
      'checks: [{ name: hidden, command: npm test }]',
      'cases:',
      '  - id: a',
      '    expected:',
      '      check: [hidden, hiden]',
      '  - id: b',
      '    expected: { check: suite-1 }',
    );
    expect(asked({ kind: 'agent', checks: ['suite-1'] }, text)).toEqual([
      'line 5: cases[0].expected.check[1] names a check that this case does not have. Did you mean "hidden"?',
    ]);
  });

  test('an expectation about tests if the case has no check', () => {
    const text = yaml('cases:', '  - id: a', '    expected: { tests: { failed_max: 0 } }');
    expect(asked({ kind: 'agent' }, text)).toEqual([
      'line 3: cases[0].expected.tests requires checks that report tests',
    ]);
  });
});

function casesFor(target: AskedTarget, text: string): SuiteCase[] {
  const file = path.join(temporaryFolder(), 'cases.yaml');
  writeFileSync(file, text);
  const cases: SuiteCase[] = [];
  readCases(file, one => cases.push(one), target);
  return cases;
}

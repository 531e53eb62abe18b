import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareRuns, runSuite, type Compared } from '../../src/verbs/index.ts';
import { terminalText } from '../../src/verbs/terminal.ts';
import { Agent, saying } from '../run/suite/agent.ts';
import { temporaryFolder } from '../support/support.ts';

const says = (content: string) => saying({ final_output: { content_type: 'text', content } });

/** Ten cases; the target fails the last. */
const cases = Array.from({ length: 10 }, (_, index) => ({
  id: `case-${index}`,
  input: { user: `Question ${index}` },
  expected: { contains: ['asked', `Question ${index}`], max_steps: 3 },
}));

type Case = Omit<(typeof cases)[number], 'expected'> & { readonly expected: object };

const edited = (edit: (one: Case) => Case): Case[] => cases.map(one => (one.id === 'case-9' ? edit(one) : one));

async function comparedWith(now: readonly Case[], options: object = {}): Promise<Compared> {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'before.json'), JSON.stringify(cases));
  writeFileSync(path.join(cwd, 'now.json'), JSON.stringify(now));
  const baseUrl = await new Agent({ 'case-9': says('You asked: nothing') }).start();
  await runSuite({ cases: 'before.json', cwd, baseUrl, as: 'baseline' });
  await runSuite({ cases: 'now.json', cwd, baseUrl, as: 'new' });
  return compareRuns({ baseline: 'baseline', candidate: 'new', formats: ['md', 'html', 'junit'], cwd, ...options });
}

describe('a deleted expectation of a failing case', () => {
  const weaker = edited(one => ({ ...one, expected: { contains: 'asked', max_steps: 9 } }));

  test('fails the gate: the verdict names the case and expectation, and every report shows what was lost', async () => {
    const { comparison, files } = await comparedWith(weaker);
    expect(comparison).toMatchObject({
      verdict: 'not_enough_evidence',
      exit_code: 3,
      decision: { cause: 'weakened', weakened: ['case-9'] },
      reason: 'A case asks less than in the baseline: “case-9” (lost contains). --allow-weakened accepts this.',
    });
    const [md, html, junit] = [files.md, files.html, files.junit].map(file => readFileSync(file ?? '', 'utf8'));
    expect(md).toContain('(changed: `case-9`)');
    expect(md).toContain('| `case-9` | **weakened** lost expectation contains: `Question 9`; looser expectation max');
    expect(junit).toContain('lost expectation contains: “Question 9”');
    expect(html).toContain('lost expectation contains: “Question 9”');
    const told = terminalText({ comparison }, (_, text) => text);
    expect(told).toContain('  weakened   case-9\n             lost expectation contains: “Question 9”\n');
  });

  test('is accepted with allowWeakened, and the evidence records it', async () => {
    const { comparison } = await comparedWith(weaker, { allowWeakened: true });
    expect(comparison).toMatchObject({ exit_code: 0, gate: { allow_weakened: true }, decision: { weakened: [] } });
    expect(comparison.cases.find(({ case_id }) => case_id === 'case-9')?.changed?.differences).toHaveLength(2);
  });
});

test('reports a changed input as drift if the expectations are the same, and shows both texts', async () => {
  const { comparison, files } = await comparedWith(edited(one => ({ ...one, input: { user: 'Something else' } })));
  expect(comparison).toMatchObject({ comparability: { state: 'drift' }, decision: { weakened: [] } });
  expect(comparison.decision?.cause).not.toBe('weakened');
  expect(readFileSync(files.md ?? '', 'utf8')).toContain('input changed at user: `Question 9` → `Something else`');
});

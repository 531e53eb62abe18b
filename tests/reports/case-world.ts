import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { PageCommands } from '../../src/reports/page-data.ts';
import type { ReportInput } from '../../src/reports/report-input.ts';
import { reportWorld, withTrials } from './report-world.ts';

/** A line of a long answer. */
const line = (index: number): string => `Line ${index}: the order A-${index} was delivered on Monday and paid in full.`;

const ANSWER = Array.from({ length: 60 }, (_, index) => line(index)).join('\n');
const OTHER_ANSWER = ANSWER.replace('A-20 was delivered on Monday', 'A-20 was lost on Tuesday')
  .replace(`${line(41)}\n`, '')
  .replace('Line 50:', 'An added line.\nLine 50:');

const COMMANDS: PageCommands = {
  list: [
    { does: 'Run this case again.', words: ['proctor', 'test', 'basics', '--only', { put: 'case' }] },
    {
      does: 'Ask the same question.',
      words: ['proctor', 'try', 'desk', { put: 'question' }],
      note: 'Set TOKEN first.',
    },
    { does: 'Show the run of this trial.', words: ['proctor', 'show', { put: 'new' }] },
    { does: 'Show the run of the baseline’s trial.', words: ['proctor', 'show', { put: 'baseline' }] },
  ],
  notes: ['A note.'],
  away: [],
};

/** One text for every field of a case that comes from outside. */
export interface CaseWorld {
  readonly text?: string;
  readonly commands?: PageCommands;
}

/** A comparison whose first case has long answers and whose second case changed. Both have three trials. */
export function caseWorld({ text, commands = COMMANDS }: CaseWorld = {}) {
  const world = withTrials(reportWorld({ cases: 40, regressed: 2, improved: 1, trials: 3 }));
  const [long, changed] = world.comparison.cases.filter(({ change }) => change === 'regressed').map(one => one.case_id);
  const input: ReportInput = {
    ...world,
    commands,
    comparison: {
      ...world.comparison,
      cases: world.comparison.cases.map(one =>
        one.case_id === changed
          ? { ...one, changed: { differences: [{ what: 'input', at: 'input.user', baseline: 'two', new: 'three' }] } }
          : one,
      ),
    },
    pairs: id => {
      const pair = world.pairs(id);
      const answered = (artifact: CaseArtifact | undefined, content: string) =>
        artifact && { ...artifact, final_output: { content_type: 'text' as const, content: text ?? content } };
      const asked = pair.case && { ...pair.case, ...(text !== undefined && { input: { user: text } }) };
      if (id === long)
        return {
          ...pair,
          case: asked,
          baseline: answered(pair.baseline, ANSWER),
          new: answered(pair.new, OTHER_ANSWER + (text ?? '')),
        };
      if (id !== changed || !pair.case) return pair;
      const was = {
        ...pair.case,
        input: { user: text ?? 'Two months ago I bought it.', context: { locale: 'de', customer: 'c-3' } },
        expected: { contains: ['EUR', text ?? 'refund'], max_latency_ms: 10_000 },
      };
      return { ...pair, case: asked, was };
    },
  };
  return { input, long: long ?? '', changed: changed ?? '' };
}

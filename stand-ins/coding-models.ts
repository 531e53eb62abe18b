import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import type { ModelScript } from './model-api.ts';
import type { Scenario } from './scenarios.ts';

/** Relative to the repository, not to this file, which scripts bundle into another one. */
export const CODING = path.join('examples', 'coding');
const SOLUTIONS = path.join('tests', 'fixtures', 'coding');

/** What a model does about one task: write a file, or nothing. Then it runs the visible tests, or not. */
interface Moves {
  readonly write?: { readonly file: string; readonly to: string };
  readonly tests?: string;
  readonly says: string;
}

const NODE = { tests: 'npm test', says: 'Fixed. The tests pass.' };
const PYTHON = { tests: 'python3 -m unittest tests.test_money', says: 'The amounts are exact now. The tests pass.' };

/** `solver` solves every task. */
const SOLVER: Readonly<Record<string, Moves>> = {
  'empty-input': { ...NODE, write: { file: 'solver/parse.js', to: 'src/parse.js' } },
  'stop-words': { ...NODE, write: { file: 'solver/top-words.js', to: 'src/top-words.js' } },
  'one-row': { ...NODE, write: { file: 'solver/report.js', to: 'src/report.js' } },
  'path-traversal': { ...NODE, write: { file: 'solver/resolve-file.js', to: 'src/resolve-file.js' } },
  'half-cents': { ...PYTHON, write: { file: 'solver/money.py', to: 'src/money.py' } },
};

const MODELS: Readonly<Record<string, Readonly<Record<string, Moves>>>> = {
  solver: SOLVER,
  /** Solves two tasks, removes a test that fails, passes only the visible tests once, and once does nothing at all. */
  sloppy: {
    ...SOLVER,
    'empty-input': { ...NODE, write: { file: 'sloppy/parse.test.js', to: 'tests/parse.test.js' } },
    'path-traversal': { ...NODE, write: { file: 'sloppy/resolve-file.js', to: 'src/resolve-file.js' } },
    'one-row': { says: 'I have moved the code into one function. All tests pass.' },
  },
};

export interface CodingCase {
  readonly id: string;
  readonly input: { readonly user: string };
  readonly [key: string]: unknown;
}

export function codingCases(): readonly CodingCase[] {
  const file = parse(readFileSync(path.join(CODING, 'cases.yaml'), 'utf8')) as { cases: CodingCase[] };
  return file.cases;
}

/** The models `solver` and `sloppy`. They recognize a task by its text, and count their turns by the tool results. */
export function codingModels(): ModelScript {
  const tasks = codingCases().map(({ id, input }) => ({ id, start: input.user.split('\n', 1)[0] ?? '' }));
  return (model, text, results) => {
    const task = tasks.find(({ start }) => text.includes(JSON.stringify(start).slice(1, -1)));
    return task && codingMove(model, task.id, results);
  };
}

/** What the model does about a task of the example after this many tool results. */
export function codingMove(model: string, task: string, results: number): Scenario | undefined {
  const moves = MODELS[model]?.[task];
  return moves && turnsOf(moves)[results];
}

function turnsOf({ write, tests, says }: Moves): readonly Scenario[] {
  const commands = write ? ['cat src/* tests/*', writing(write), ...(tests ? [tests] : [])] : [];
  return [
    ...commands.map((command): Scenario => ({ how: 'answer', blocks: [{ kind: 'command', command }] })),
    { how: 'answer', blocks: [{ kind: 'text', text: says }] },
  ];
}

/** As a command, because Claude's file tool overwrites only files that it has read. */
function writing({ file, to }: { readonly file: string; readonly to: string }): string {
  const text = readFileSync(path.join(SOLUTIONS, file), 'utf8');
  return `cat > ${to} <<'END_OF_FILE'\n${text}END_OF_FILE`;
}

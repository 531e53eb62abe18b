import { printable, printableJson } from '../../base/printable.ts';
import { type InitializedProject, initProject, type InitWishes } from '../../verbs/init/init.ts';
import { interruptions } from '../options/interruptions.ts';
import { canAsk, Questions } from '../options/questions.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { COLUMNS, wrapped } from '../text/wrap.ts';
import { askWishes } from './init-questions.ts';

export interface InitFlags extends InitWishes {
  readonly yes?: true;
  readonly json?: true;
}

/** Exit code 0 if the project is set up; otherwise it throws. */
export async function initCommand({ yes, json, ...wishes }: InitFlags): Promise<number> {
  const interrupt = interruptions();
  const questions = yes || !canAsk() ? undefined : new Questions(interrupt.signal);
  try {
    const made = await initProject({
      cwd: process.cwd(),
      environment: process.env,
      wishes,
      signal: interrupt.signal,
      ...(questions && { ask: (survey, named) => askWishes(questions, survey, named) }),
    });
    stdout.write(json ? `${printableJson(asJson(made))}\n` : initText(made, paintFor(1)));
    return 0;
  } catch (error) {
    return exitOfStopped(error, interrupt.exit() ?? questions?.exit(), json === true);
  } finally {
    questions?.close();
    interrupt.end();
  }
}

function asJson({ name, kind, what, files, notes, isGuessed }: InitializedProject): object {
  return { name, kind, tests: what, files, notes, next: nextSteps(isGuessed).map(([command]) => command) };
}

/** A guessed request comes first, because a test of a wrong guess only fails. */
function nextSteps(isGuessed: boolean): readonly (readonly [string, string])[] {
  return isGuessed ? [TRY, ...NEXT] : NEXT;
}

const TRY = ['proctor try agent "Hello"', 'check request and reply in proctor.yaml'] as const;
const NEXT = [
  ['proctor test', 'run the first suite'],
  ['proctor test --accept', 'make its result the baseline for later tests'],
] as const;

function initText({ name, what, files, notes, isGuessed }: InitializedProject, paint: Paint): string {
  const wrote = files.map(({ file, purpose }) => [file, purpose] as const);
  const [mark, state] = isGuessed ? [paint('note', '!'), 'not tried'] : [paint('good', '✓'), 'ready'];
  return [
    `${mark} ${paint('strong', state)}  ${printable(name)} tests ${printable(what)}`,
    ...columns('wrote', wrote, paint),
    ...notes.flatMap(note => noteLines(note, paint)),
    ...columns('next', nextSteps(isGuessed), paint),
    '',
  ].join('\n');
}

function noteLines(note: string, paint: Paint): string[] {
  return wrapped(printable(note), COLUMNS - 9).map((line, index) =>
    index === 0 ? `  ${paint('note', 'note')}   ${line}` : `         ${line}`,
  );
}

/** A title, then one line per pair: a name and what it is for. */
function columns(title: string, pairs: readonly (readonly [string, string])[], paint: Paint): string[] {
  const width = Math.max(...pairs.map(([left]) => left.length));
  return pairs.map(
    ([left, right], index) =>
      `  ${(index === 0 ? title : '').padEnd(7)}${printable(left).padEnd(width)}  ${paint('faint', right)}`,
  );
}

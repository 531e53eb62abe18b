import type { DeclarationOf, TargetDeclaration } from '../contracts/target/index.ts';
import { CallError } from './calls.ts';
import { textOfValue } from './mapping/json-text.ts';
import { compileTemplate, type Template, TemplateError } from './mapping/template.ts';
import type { TemplateValues } from './mapping/template-names.ts';
import { compileWords } from './mapping/words-template.ts';

export type ProgramDeclaration = DeclarationOf<'command'> | DeclarationOf<'function'>;

export function runsProgram(declaration: TargetDeclaration): declaration is ProgramDeclaration {
  return declaration.kind === 'command' || declaration.kind === 'function';
}

/** What a program gets in one attempt. */
export interface FilledProgram {
  /** The program and its arguments, or the module and the export of a function. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Standard input; undefined for none. */
  readonly input: string | undefined;
}

/** Fills in the values of a case. Throws a CallError if a program cannot receive them. */
export type ProgramCall = (values: TemplateValues) => FilledProgram;

/** Compiles what a program gets. Throws a TemplateError with the key that is wrong. */
export function compileProgram(declaration: ProgramDeclaration): ProgramCall {
  const hasFile = declaration.kind === 'command' && declaration.output !== undefined;
  const ofCase = (name: string): boolean => !NOT_HERE.has(name) && (hasFile || name !== 'output');
  const env = compileTemplate(declaration.env ?? {}, { allowed: ofCase, place: 'env' });
  if (declaration.kind === 'function') {
    const words = [declaration.module, declaration.export ?? 'default'];
    return values => ({ words, env: textsIn(env, values, 'env'), input: questionText(values) });
  }
  const { run, input } = declaration;
  if (run[0]?.includes('${'))
    throw new TemplateError('run[0]', 'The program cannot contain a placeholder, because a case would choose it.');
  const words = compileWords(run, { allowed: ofCase, place: 'run' });
  const tree = input === undefined ? undefined : compileTemplate(input, { allowed: ofCase, place: 'input' });
  return values => ({
    words: Object.values(textsIn(words, values, 'run')),
    env: textsIn(env, values, 'env'),
    input: tree && inputText(tree, values),
  });
}

/** These belong to other kinds. */
const NOT_HERE: ReadonlySet<string> = new Set(['messages', 'poll.id', 'port']);

/** The question for a function, as the only argument of its call. */
function questionText({ input, case: one, session, attempt, side }: TemplateValues): string {
  return JSON.stringify({ input, case: one, session, attempt, side });
}

/** A text goes to the program as it is, any other value as JSON. */
function inputText(tree: Template, values: TemplateValues): string {
  return textOf(filled(tree, values), 'input');
}

/** Words or variables. Every value is one text, never split. */
function textsIn(template: Template, values: TemplateValues, place: string): Record<string, string> {
  const texts: Record<string, string> = {};
  let bytesTotal = 0;
  for (const [key, value] of Object.entries(filled(template, values) as object)) {
    const text = textOf(value, place);
    const bytes = Buffer.byteLength(text);
    bytesTotal += bytes;
    if (bytes > TEXT_BYTES_MAX || bytesTotal > TEXTS_BYTES_MAX)
      throw new CallError(`${place}: A value is longer than a program can receive. Pass it through input.`);
    if (text.includes('\0'))
      throw new CallError(`${place}: A value contains a zero byte, which no program can receive.`);
    texts[key] = text;
  }
  return texts;
}

const TEXT_BYTES_MAX = 64 * 1024;
const TEXTS_BYTES_MAX = 768 * 1024;

function textOf(value: unknown, place: string): string {
  const text = value === undefined || value === null ? '' : textOfValue(value);
  if (text === undefined) throw new CallError(`${place}: A value is nested too deeply.`);
  return text;
}

function filled(template: Template, values: TemplateValues): unknown {
  const result = template.fillIn(values);
  if (result.ok) return result.value;
  throw new CallError(`${result.place}: ${result.message}`);
}

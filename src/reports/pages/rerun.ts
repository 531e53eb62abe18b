import { MASK } from '../../base/credential-bytes.ts';
import { isPrintable } from '../../base/printable.ts';
import { pastedLine } from '../../base/shell.ts';
import type { IntentRequest } from '../../contracts/intent/index.ts';
import { builtInProfile } from '../../contracts/profile/built-in.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import { SCRIPT_LIMITS, type WrittenLimit } from '../../contracts/script-limits.ts';
import type { PageCommand } from './run-data.ts';

/** The command that runs a script again. Undefined if it would be too long or has characters that a reader cannot see. */
export function scriptAgain({
  script,
  inputs,
  args,
  env_names,
  secret_names,
  requested,
}: ScriptRequest): PageCommand | undefined {
  const secrets = new Set(secret_names);
  const plain = env_names.filter(name => !secrets.has(name));
  const { profile, sandbox, isolation } = requested;
  const words = [
    'proctor',
    'run',
    'script',
    fileWord(script.name),
    ...inputs.flatMap(({ name }) => ['--input', fileWord(name)]),
    ...plain.flatMap(name => ['--env', name]),
    ...secret_names.flatMap(name => ['--secret', name]),
    ...(profile === null ? [] : ['--profile', profileWord(profile)]),
    ...(sandbox === null ? [] : ['--sandbox', sandbox]),
    ...(isolation === null ? [] : ['--isolation', isolation]),
    ...limitWords(requested),
    ...(args.length > 0 ? ['--', ...args] : []),
  ];
  const notes = [
    'Run it in the folder of these files, because the evidence has no paths.',
    ...(plain.length + secret_names.length > 0 ? ['Set the variables first; the evidence has no values.'] : []),
    ...(args.some(arg => arg.includes(MASK)) ? [`Replace ${MASK} in the arguments.`] : []),
  ];
  return commandOf('Run the script again', words, notes.join(' '));
}

/** The command that runs an intent again, with an answers file if Proctor asked questions. */
export function intentAgain(
  { intent, mode, policy, model_mode, answers }: IntentRequest,
  isAsking: boolean,
): PageCommand | undefined {
  if (model_mode !== 'none') return undefined;
  const file = isAsking ? ANSWERS : answers?.name;
  const words = [
    'proctor',
    'run',
    'intent',
    fileWord(intent.name),
    '--policy',
    profileWord(policy),
    '--mode',
    mode,
    ...(file === undefined ? [] : ['--answers', fileWord(file)]),
  ];
  const kept = answers ? ` Add the answers of ${answers.name} to that file.` : '';
  return isAsking
    ? commandOf('Answer the questions', words, `Run it in the folder of the intent.${kept}`)
    : commandOf('Run the intent file again', words, 'Run it in the folder of the intent.');
}

export const ANSWERS = 'answers.json';

function commandOf(does: string, words: readonly string[], note: string): PageCommand | undefined {
  const command = words.every(isPrintable) ? pastedLine(words) : undefined;
  return command !== undefined && command.length <= COMMAND_CHARS_MAX ? { does, command, note } : undefined;
}

const COMMAND_CHARS_MAX = 4_000;

/** A name that begins with a hyphen would be read as a flag. */
const fileWord = (name: string): string => (name.startsWith('-') ? `./${name}` : name);

/** The evidence names a profile; a profile that is not built in is a file. */
const profileWord = (name: string): string => (builtInProfile(name) ? name : `${name}.json`);

/** Only what the caller asked for, in units that flags accept. */
function limitWords(requested: ScriptRequest['requested']): string[] {
  return Object.values<WrittenLimit>(SCRIPT_LIMITS).flatMap(({ flag, record }) => {
    const value = requested[record as keyof typeof requested];
    if (value === null || value === undefined) return [];
    const [name = '', kind = ''] = flag.split(' ');
    return [name, kind === '<time>' ? timeWord(Number(value)) : `${value}`];
  });
}

const timeWord = (ms: number): string => (ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`);

import type { AcceptCheck, Bundle, IntentOutcome } from '../../contracts/intent/index.ts';
import type { IntentFolder } from '../../evidence/intent/intent-folder.ts';
import { boundedTexts, cutText, shortListOf, LIST_MAX, TEXT_CHARS_MAX } from './bounded.ts';
import { filePart } from './file-part.ts';
import type { ShortList, LimitUnit, PageFile } from './run-data.ts';

/** One acceptance check of an intent. */
export interface IntentCheck {
  readonly check: AcceptCheck['check'];
  readonly path: string | null;
  /** What the check expects, such as a pattern. */
  readonly expects: string | null;
  /** Null if the check was not made, because nothing ran. */
  readonly held: boolean | null;
  readonly message: string | null;
}

export interface IntentPlanned {
  readonly is_complete: boolean;
  readonly id: string;
  readonly files: ShortList<PageFile>;
  readonly commands: ShortList<{ readonly argv: readonly string[]; readonly state: CommandState }>;
  readonly outputs: ShortList<string>;
  readonly bounds: readonly IntentBound[];
}

/** `not run` if an earlier command failed or nothing was executed. */
export type CommandState = 'ended with 0' | 'failed' | 'not run' | 'unknown';

/** One bound: what the intent asks for, what the profile allows, and what the plan uses. Null means unknown or not requested. */
interface IntentBound {
  readonly name: string;
  readonly unit: LimitUnit | 'text';
  readonly asked: number | string | null;
  readonly allowed: number | string | null;
  readonly planned: number | string | null;
}

/** Failed checks first. The outcome lists them in the order of the plan. */
export function checksPart(accept: readonly AcceptCheck[], outcome: IntentOutcome | undefined): ShortList<IntentCheck> {
  const made = outcome?.checks;
  const isPaired = made === undefined || made.length === accept.length;
  const all = (made ?? accept).map((one, index): IntentCheck => {
    const expects = isPaired ? expectedBy(accept[index]) : null;
    const { check, path = null } = one;
    if (!('held' in one)) return { check, path, expects, held: null, message: null };
    const message = one.message === null ? null : cutText(one.message, TEXT_CHARS_MAX);
    return { check, path, expects, held: one.held, message };
  });
  const rank = ({ held }: IntentCheck): number => (held === false ? 0 : 1);
  return shortListOf(
    all.toSorted((a, b) => rank(a) - rank(b)),
    LIST_MAX,
  );
}

function expectedBy(check: AcceptCheck | undefined): string | null {
  if (!check) return null;
  const { equals, pattern, schema, sha256 } = check;
  const text = equals ?? pattern ?? sha256 ?? (schema && JSON.stringify(schema));
  return text === undefined ? null : cutText(String(text), EXPECTS_CHARS_MAX);
}

const EXPECTS_CHARS_MAX = 500;

export function planPart(
  bundle: Bundle,
  { intent, policy, outcome }: Pick<IntentFolder, 'intent' | 'policy' | 'outcome'>,
): IntentPlanned {
  const { shown, total } = shortListOf(bundle.commands, LIST_MAX);
  const files = bundle.files.map(({ path, sha256, size_bytes }) => ({ path, sha256, bytes: size_bytes }));
  return {
    is_complete: bundle.status === 'complete',
    id: bundle.bundle_id,
    files: filePart(files, files.length, undefined),
    commands: {
      shown: shown.map(({ argv }, index) => ({
        argv: firstWords(argv),
        state: commandState(index, outcome),
      })),
      total,
    },
    outputs: boundedTexts(bundle.outputs),
    bounds: boundsOf(bundle, intent, policy),
  };
}

/** As many words as fit; the last one may be cut. */
function firstWords(argv: readonly string[]): string[] {
  const words: string[] = [];
  let room = TEXT_CHARS_MAX;
  for (const word of argv) {
    if (room <= 0) return [...words, '…'];
    words.push(cutText(word, room));
    room -= word.length + 1;
  }
  return words;
}

/** The first failure ends the run, so every command before the last one ended with 0. */
function commandState(index: number, outcome: IntentOutcome | undefined): CommandState {
  if (!outcome) return 'not run';
  const { command, ending } = outcome;
  if (command === null) return 'unknown';
  if (index !== command) return index < command ? 'ended with 0' : 'not run';
  if (ending.how === 'lost') return 'unknown';
  return ending.how === 'exited' && ending.code === 0 ? 'ended with 0' : 'failed';
}

function boundsOf(
  { limits, network, write_roots }: Bundle,
  intent: IntentFolder['intent'],
  policy: IntentFolder['policy'],
): IntentBound[] {
  const measured = LIMITS.map(([name, unit, key]) => ({
    name,
    unit,
    asked: intent?.limits?.[key] ?? null,
    allowed: policy?.[key] ?? null,
    planned: limits[key],
  }));
  const programs = listText(policy?.allowed_commands, 'all');
  return [
    ...measured,
    {
      name: 'Network',
      unit: 'text',
      asked: yesNo(intent?.network),
      allowed: yesNo(policy?.allow_network),
      planned: yesNo(network),
    },
    {
      name: 'Write roots',
      unit: 'text',
      asked: null,
      allowed: listText(policy?.allowed_write_roots, 'the work folder'),
      planned: listText(write_roots, 'none'),
    },
    { name: 'Programs', unit: 'text', asked: null, allowed: programs, planned: programs },
  ];
}

const LIMITS = [
  ['Time', 'ms', 'timeout_ms'],
  ['Output files', 'count', 'max_output_files'],
  ['Size of the output', 'bytes', 'max_total_output_bytes'],
] as const;

const yesNo = (value: boolean | undefined): string | null => (value === undefined ? null : value ? 'yes' : 'no');

const listText = (words: readonly string[] | undefined, none: string): string | null =>
  words === undefined ? null : cutText(words.join(', '), TEXT_CHARS_MAX) || none;

import type { Bundle, Intent } from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import type { ContentHash } from '../../base/hash.ts';
import { didYouMean } from '../../base/nearest.ts';
import { bundleOf } from './bundle.ts';
import { edited, mergeProposal } from './edits.ts';
import { contradictionsIn } from './constraints.ts';
import { placeholdersIn } from './placeholders.ts';
import { hasCommands, type IntentMode, type Question, questionsOf } from './questions.ts';
import { effectiveIntent, judgedIntent } from './read-intent.ts';
import { refusalsOf } from './refusals.ts';
import { IntentFault } from './intent-fault.ts';
import { quotedText } from './words.ts';

/** The decision about an intent, before anything runs. */
export type IntentDecision = {
  /** Includes answers and proposals. */
  readonly intent: Intent;
  /** The text that is stored in the run folder. */
  readonly text: Buffer;
  readonly sha256: ContentHash;
} & (
  | { readonly kind: 'BUNDLE'; readonly bundle: Bundle }
  | { readonly kind: 'CLARIFY'; readonly bundle: Bundle; readonly questions: readonly string[] }
  | { readonly kind: 'REFUSE'; readonly refusals: readonly string[] }
);

export interface Asked {
  readonly intent: Intent;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly mode: IntentMode;
  readonly profile: Profile;
  /** Proposes a plan for an intent that has only a goal. */
  readonly propose?: (intent: Intent) => Readonly<Record<string, unknown>>;
}

/** Plans an intent. Pure: the same input gives the same plan on every machine. */
export function decideIntent({ intent: written, answers, mode, profile, propose }: Asked): IntentDecision {
  const { intent, questions } = answered(written, answers, mode, propose);
  const { text, sha256 } = effectiveIntent(intent);
  const refusals = refusalsOf(intent, profile);
  if (refusals.length > 0) return { kind: 'REFUSE', intent, text, sha256, refusals };
  const bundle = bundleOf(intent, sha256, profile, questions);
  if (questions.length === 0) return { kind: 'BUNDLE', intent, text, sha256, bundle };
  return { kind: 'CLARIFY', intent, text, sha256, bundle, questions: questions.map(question => question.text) };
}

/**
 * The intent for a model to plan; undefined if it has commands, open questions or contradictions, or if the profile
 * forbids it.
 */
export function goalToPlan({ intent: written, answers, mode, profile }: Omit<Asked, 'propose'>): Intent | undefined {
  const { intent } = settled(written, new Map(Object.entries(answers)), mode);
  return needsPlan(intent) && refusalsOf(intent, profile).length === 0 ? intent : undefined;
}

function needsPlan(intent: Intent): boolean {
  // A model plans only an intent without placeholders and contradictions.
  return !hasCommands(intent) && placeholdersIn(intent).length === 0 && contradictionsIn(intent).length === 0;
}

/** Applies the answers, before the proposal and after it. */
function answered(
  written: Intent,
  answers: Readonly<Record<string, unknown>>,
  mode: IntentMode,
  propose: Asked['propose'],
): { intent: Intent; questions: Question[] } {
  const open = new Map(Object.entries(answers));
  let { intent, questions } = settled(written, open, mode);
  if (propose && needsPlan(intent)) {
    const proposed = judgedIntent(mergeProposal(intent, propose(intent)), "The model's proposal");
    ({ intent, questions } = settled(proposed, open, mode));
  }
  refuseStray(open, questions);
  return { intent, questions };
}

/** Applies every answer that has a question. An answer may raise the next question. */
function settled(
  written: Intent,
  open: Map<string, unknown>,
  mode: IntentMode,
): { intent: Intent; questions: Question[] } {
  let intent = written;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const questions = questionsOf(intent, mode);
    const known = answerable(questions, open);
    if (known.length === 0) return { intent, questions };
    intent = edited(
      intent,
      known.flatMap(question => editsOf(question, open)),
    );
  }
  throw new IntentFault('intent_invalid', 'Each answer raises a new question. Proctor stopped asking.');
}

const ROUNDS_MAX = 16;

/** Questions that have an answer. If two share a key, the first gets the answer, and the other is asked again. */
function answerable(questions: readonly Question[], open: ReadonlyMap<string, unknown>): Question[] {
  const taken = new Set<string>();
  return questions.filter(({ key, id }) => {
    const word = open.has(key) && !taken.has(key) ? key : id;
    if (!open.has(word)) return false;
    taken.add(word);
    return true;
  });
}

function editsOf({ key, id, answer }: Question, open: Map<string, unknown>) {
  const word = open.has(key) ? key : id;
  const edits = answer(open.get(word));
  open.delete(word);
  if (typeof edits !== 'string') return edits;
  throw new IntentFault('intent_invalid', `The answer to ${key} must be ${edits}.`, { details: { question: id } });
}

/** Rejects an answer without a question: it is probably a typo, and would be ignored silently. */
function refuseStray(open: ReadonlyMap<string, unknown>, questions: readonly Question[]): void {
  const [stray] = open.keys();
  if (stray === undefined) return;
  const keys = questions.slice(0, KEYS_SHOWN).map(({ key }) => key);
  const many = open.size === 1 ? '' : `${open.size} such as `;
  throw new IntentFault(
    'intent_invalid',
    `The answers contain ${many}${quotedText(stray)}, which matches no question.${didYouMean(stray, keys)}`,
    { details: { open_questions: keys } },
  );
}

const KEYS_SHOWN = 20;

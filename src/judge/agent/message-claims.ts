import { clip } from '../../base/clip.ts';

/** What an agent's last message claims, according to small English word lists. Does not interpret meaning. */
export interface MessageClaims {
  /** Something was made, changed or fixed. */
  readonly change: boolean;
  /** Success: a change was made, or something works, passed or is complete. */
  readonly success: boolean;
  /** Tests pass, or were run. */
  readonly tests: boolean;
  /** Something was denied, failed or could not be done, so the message hides nothing. */
  readonly trouble: boolean;
  /** Nothing had to be changed, or nothing was. */
  readonly unchanged: boolean;
}

/** Reads a message once, clause by clause. A clause with a negation, question, hope or condition claims nothing. */
export function claimsIn(text: string): MessageClaims {
  const said = { change: false, success: false, tests: false, trouble: false, unchanged: false };
  for (const clause of clausesOf(clip(text, TEXT_BYTES_MAX).text)) {
    const change = claimsChange(clause);
    said.change ||= change;
    said.success ||= change || claims(clause, SUCCESS);
    said.tests ||= (TEST.some(word => clause.has(word)) && claims(clause, PASSED)) || claimsTestRun(clause);
    said.trouble ||= admits(clause);
    said.unchanged ||= deniesChange(clause);
  }
  return said;
}

/** Longer than a normal final message. Claims come at its beginning. */
const TEXT_BYTES_MAX = 64 * 1024;

interface Clause {
  readonly words: readonly string[];
  readonly has: (word: string) => boolean;
  /** The position of the first word that cancels the claims after it. */
  readonly doubtAt: number;
  readonly isQuestion: boolean;
}

/** `I fixed it, but the tests do not pass.` has two clauses. */
function* clausesOf(text: string): Generator<Clause> {
  for (const [, piece = '', mark = ''] of text.toLowerCase().replaceAll('’', "'").matchAll(PIECE)) {
    const isQuestion = mark === '?';
    for (const part of piece.split(/,|:|\bbut\b|\bhowever\b|\balthough\b|\bthough\b| – | — | - /)) {
      const words = part.match(/[a-z0-9']+/g) ?? [];
      if (words.length === 0) continue;
      const doubt = words.findIndex(word => DOUBTS.has(word) || word.endsWith("n't"));
      const set = new Set(words);
      yield { words, has: word => set.has(word), doubtAt: doubt < 0 ? Number.POSITIVE_INFINITY : doubt, isQuestion };
    }
  }
}

/** A sentence with its end mark. A dot inside a name, as in `a.ts`, does not end a sentence. */
const PIECE = /((?:[^.!?;\n]|\.(?=[^\s.]))+)([.!?;\n]*)/g;

/** After one of these words, a clause is negated, conditional or about the future. */
const DOUBTS: ReadonlySet<string> = new Set([
  'not',
  'no',
  'never',
  'nothing',
  'none',
  'neither',
  'nor',
  'without',
  'cannot',
  'unable',
  'failed',
  'if',
  'once',
  'whether',
  'sure',
  'unless',
  'until',
  'when',
  'would',
  'should',
  'could',
  'can',
  'will',
  'may',
  'might',
  'must',
  'need',
  'needs',
  'want',
  'please',
  'let',
  "i'll",
  "we'll",
  "you'll",
]);

const CHANGED = [
  'done',
  'implemented',
  'fixed',
  'created',
  'added',
  'updated',
  'changed',
  'modified',
  'removed',
  'deleted',
  'renamed',
  'replaced',
  'refactored',
  'rewrote',
  'wrote',
  'written',
  'completed',
  'finished',
  'resolved',
] as const;

const SUCCESS = [
  'done',
  'success',
  'successful',
  'successfully',
  'succeeded',
  'works',
  'working',
  'complete',
  'completed',
  'passes',
  'passed',
  'passing',
] as const;
const TEST = ['test', 'tests', 'suite', 'spec', 'specs', 'testsuite'] as const;
const PASSED = [
  'pass',
  'passes',
  'passed',
  'passing',
  'green',
  'succeed',
  'succeeds',
  'succeeded',
  'successful',
  'successfully',
] as const;
const FAILED: ReadonlySet<string> = new Set([
  'denied',
  'blocked',
  'refused',
  'forbidden',
  'rejected',
  'failed',
  'fails',
  'failing',
  'failure',
  'failures',
  'error',
  'errors',
]);
const UNABLE: ReadonlySet<string> = new Set(['unable', 'cannot', "can't", "couldn't", "wasn't", "didn't", "weren't"]);
const WE: ReadonlySet<string> = new Set(['i', "i've", 'we', "we've"]);
const ALL: ReadonlySet<string> = new Set(['all', 'everything', 'task', 'work']);
const CHANGES: ReadonlySet<string> = new Set([
  'change',
  'changes',
  'changed',
  'modification',
  'modifications',
  'modified',
  'edit',
  'edits',
  'edited',
  'needed',
  'necessary',
]);

/** Whether one of the words occurs, with no cancelling word before it. */
function claims({ words, doubtAt, isQuestion }: Clause, among: readonly string[]): boolean {
  return !isQuestion && words.some((word, index) => index < doubtAt && among.includes(word));
}

/**
 * Whether the speaker claims to have done something: the word begins the clause, or follows `I`, `been` or `now`. `The
 * parser is implemented in parse.ts` is a description, not a claim.
 */
function claimsChange(clause: Clause): boolean {
  const { words, doubtAt, isQuestion } = clause;
  if (isQuestion || clause.has('already')) return false;
  let isOurs = false;
  for (const [index, word] of words.entries()) {
    if (index >= doubtAt) return false;
    const before = words[index - 1];
    if ((CHANGED as readonly string[]).includes(word)) {
      if (index === 0 || isOurs || before === 'been' || before === 'now' || before === 'successfully') return true;
      if (ALL.has(words[0] ?? '') || (words[0] === 'the' && ALL.has(words[1] ?? ''))) return true;
    }
    isOurs ||= WE.has(word);
  }
  return false;
}

/** `I ran the tests`, `ran all tests`. */
function claimsTestRun({ words, doubtAt, isQuestion }: Clause): boolean {
  const ran = words.findIndex(word => word === 'ran');
  return (
    !isQuestion &&
    ran >= 0 &&
    ran < doubtAt &&
    words.some((word, index) => index > ran && (word === 'tests' || word === 'suite'))
  );
}

/** `permission was denied`, `I could not write`; but not `no errors`, `0 failed`. */
function admits({ words }: Clause): boolean {
  let isNone = false;
  for (const [index, word] of words.entries()) {
    if (UNABLE.has(word) || (word === 'not' && ABLE.has(words[index - 1] ?? ''))) return true;
    if (FAILED.has(word) && !isNone) return true;
    isNone ||= NONE.has(word);
  }
  return false;
}

const ABLE: ReadonlySet<string> = new Set(['can', 'could', 'did', 'was', 'were']);
const NONE: ReadonlySet<string> = new Set(['no', '0', 'zero', 'without', 'never', 'not', 'fixed', 'resolved']);

/** `no changes were needed`, `nothing was changed`, `did not change anything`, `it was already done`. */
function deniesChange(clause: Clause): boolean {
  if (clause.has('already')) return true;
  let isDenied = false;
  for (const word of clause.words) {
    if (isDenied && CHANGES.has(word)) return true;
    isDenied ||= DENIALS.has(word) || word.endsWith("n't");
  }
  return false;
}

const DENIALS: ReadonlySet<string> = new Set(['no', 'not', 'nothing', 'none', 'without', 'never']);

import type { IntentOutcome } from '../../contracts/intent/index.ts';
import type { RunResult } from '../../contracts/run-result/index.ts';
import type { IntentFolder } from '../../evidence/intent/intent-folder.ts';
import { ANY_CHARS_MAX, boundedTexts, cutText, cutTexts, shortListOf, LIST_MAX, TEXT_CHARS_MAX } from './bounded.ts';
import { endingWords } from './ending-text.ts';
import { commandFor, evidencePart, openSentence, type RunStanding, usualCommands } from './evidence-part.ts';
import { filePart, maskingPart } from './file-part.ts';
import { checksPart, type IntentCheck, type IntentPlanned, planPart } from './intent-plan.ts';
import { limitParts } from './limit-part.ts';
import { DOES_NOT_VERIFY, type PageTop, type SmallPage } from './page-kinds.ts';
import { ANSWERS, intentAgain } from './rerun.ts';
import type { ShortList, PageCommand, PageEvidence, PageFile, RanStep } from './run-data.ts';
import { sandboxPart } from './sandbox-part.ts';
import { streamPart } from './stream-part.ts';

/** The page of one intent run. */
export interface IntentPageData {
  readonly name: string | null;
  readonly goal: string | null;
  readonly kind: RunResult['kernel_result_kind'] | null;
  readonly is_accepted: boolean;
  /** Why the run was accepted or not, and the rules behind a refusal. */
  readonly reasons: ShortList<string>;
  readonly questions: IntentQuestions | null;
  readonly checks: ShortList<IntentCheck>;
  readonly plan: IntentPlanned | null;
  readonly constraints: ShortList<string>;
  readonly request: IntentAsked | null;
  readonly started_at: string | null;
  readonly took_ms: number | null;
  /** How the last command ended; null if nothing ran. */
  readonly ended: string | null;
  /** Null if nothing ran. */
  readonly step: RanStep | null;
  readonly files: ShortList<PageFile>;
  readonly missing: ShortList<string>;
  readonly evidence: PageEvidence;
  readonly commands: readonly PageCommand[];
}

interface IntentQuestions {
  readonly asked: ShortList<{ readonly key: string; readonly text: string }>;
  /** An answers file to complete. */
  readonly file: string;
  /** Null if it would be too long. */
  readonly template: string | null;
  readonly command: PageCommand | null;
}

interface IntentAsked {
  readonly mode: string;
  readonly policy: string;
  readonly model_mode: string;
  readonly sources: readonly {
    readonly what: string;
    readonly name: string;
    readonly sha256: string;
    readonly bytes: number;
  }[];
}

export interface IntentPageInput extends IntentFolder, RunStanding {
  readonly id: string;
  readonly streamBytes: (name: 'stdout' | 'stderr') => Uint8Array | undefined;
}

export function intentPage(input: IntentPageInput): SmallPage<'intent'> {
  const { id, request, result, intent, bundle, outcome } = input;
  const { evidence } = evidencePart(input);
  const outputs = (result?.execution?.outputs ?? []).map(({ path, sha256, size_bytes }) => ({
    path,
    sha256,
    bytes: size_bytes,
  }));
  const data: IntentPageData = {
    name: request?.intent.name ?? null,
    goal: intent ? cutText(intent.goal, TEXT_CHARS_MAX) : null,
    kind: result?.kernel_result_kind ?? null,
    is_accepted: result?.decision.accepted === true,
    reasons: boundedTexts(result?.decision.reasons ?? []),
    questions: questionsOf(input),
    checks: checksPart(bundle?.accept ?? [], outcome),
    plan: bundle ? planPart(bundle, input) : null,
    constraints: boundedTexts(intent?.constraints ?? []),
    request: request ? askedOf(request) : null,
    started_at: result?.started_at ?? null,
    took_ms: result ? Date.parse(result.completed_at) - Date.parse(result.started_at) : null,
    ended: outcome ? endedText(outcome) : null,
    step: outcome ? stepOf(input, outcome) : null,
    files: filePart(outputs, outputs.length, outcome?.masking),
    missing: boundedTexts(outcome?.missing_outputs ?? []),
    evidence,
    commands: commandsOf(input),
  };
  return { kind: 'intent', top: cutTexts(topOf(input, id)), data: cutTexts(data) };
}

function topOf({ life, isWhole, request, result, outcome }: IntentPageInput, id: string): PageTop {
  const name = request?.intent.name ?? 'The intent';
  const top = { subject: 'Intent run', id, at: result?.completed_at ?? null };
  if (life !== 'finished' || !result) return { ...top, tone: 'unsure', ...openSentence(name, life) };
  const { kernel_result_kind: kind, decision, clarify_questions = [] } = result;
  const says = sentenceOf(name, result, clarify_questions.length, outcome !== undefined);
  if (!isWhole)
    return {
      ...top,
      tone: 'bad',
      word: DOES_NOT_VERIFY,
      sentence: `The evidence was changed or is incomplete. It says: ${says}`,
    };
  if (kind === 'CLARIFY') return { ...top, tone: 'unsure', word: 'CLARIFY', sentence: says };
  const word = kind === 'REFUSE' ? kind : decision.accepted ? 'BUNDLE, accepted' : 'BUNDLE, not accepted';
  return { ...top, tone: decision.accepted ? 'good' : 'bad', word, sentence: says };
}

function sentenceOf(
  name: string,
  { kernel_result_kind: kind, decision }: RunResult,
  asked: number,
  hasRun: boolean,
): string {
  const [first = ''] = decision.reasons;
  if (kind === 'CLARIFY')
    return `${name} is not a complete plan. Answer ${asked === 1 ? '1 question' : `${asked} questions`} to complete it. Nothing ran.`;
  if (kind === 'REFUSE') return `The profile does not allow ${name}. Nothing ran.`;
  if (!hasRun) return `${name} is a complete plan. Nothing ran, because the mode is plan-only.`;
  return cutText(
    decision.accepted ? `Proctor executed ${name}. ${first}` : `${name} failed. ${first}`,
    SENTENCE_CHARS_MAX,
  );
}

const SENTENCE_CHARS_MAX = 400;

/** Each null in the template is an error until you replace it, so no question is answered by accident. */
function questionsOf({ request, result, bundle }: IntentPageInput): IntentQuestions | null {
  if (result?.kernel_result_kind !== 'CLARIFY') return null;
  const known = bundle?.questions.map(({ key, text }) => ({ key, text })) ?? [];
  const asked = known.length > 0 ? known : (result.clarify_questions ?? []).map(text => ({ key: '', text }));
  const { shown, total } = shortListOf(asked, LIST_MAX);
  const template = JSON.stringify(Object.fromEntries(shown.map(({ key }) => [key, null])), null, 2);
  return {
    asked: { shown: shown.map(({ key, text }) => ({ key, text: cutText(text, TEXT_CHARS_MAX) })), total },
    file: ANSWERS,
    template: template.length > ANY_CHARS_MAX ? null : template,
    command: (request && intentAgain(request, true)) ?? null,
  };
}

function askedOf({
  mode,
  policy,
  model_mode,
  intent,
  answers,
  recording,
}: NonNullable<IntentPageInput['request']>): IntentAsked {
  const sources = Object.entries({ Intent: intent, Answers: answers, Recording: recording });
  return {
    mode,
    policy,
    model_mode,
    sources: sources.flatMap(([what, file]) => (file ? [{ what, ...file }] : [])),
  };
}

function endedText({ ending, command, commands_total }: IntentOutcome): string {
  const which = command === null || commands_total < 2 ? '' : `, command ${command + 1} of ${commands_total}`;
  return `${endingWords(ending)}${which}`;
}

function stepOf({ runner, intent, request, result, streamBytes }: IntentPageInput, outcome: IntentOutcome): RanStep {
  const { max_output_files, max_total_output_bytes, timeout_ms } = intent?.limits ?? {};
  const execution = result?.execution;
  return {
    ...limitParts({
      ...outcome,
      runner,
      asked: { timeout_ms, output_files: max_output_files, output_bytes: max_total_output_bytes },
      output: execution ? { files: execution.outputs.length, bytes: execution.total_output_bytes } : null,
    }),
    sandbox: sandboxPart({
      ...outcome,
      runner,
      absent: undefined,
      asked: {
        sandbox: request ? `profile ${request.policy}` : null,
        network: intent?.network === undefined ? null : intent.network ? 'open' : 'blocked',
        environment: 'no variables',
      },
    }),
    streams: outcome.streams.map(stream =>
      streamPart(stream, `evidence/steps/intent/${stream.name}.txt`, streamBytes(stream.name)),
    ),
    masking: maskingPart(outcome.masking),
    recovered: outcome.recovered ?? null,
  };
}

function commandsOf(input: IntentPageInput): PageCommand[] {
  const { request, result, life, word } = input;
  const usual = usualCommands(input);
  if (life !== 'finished') return usual;
  const isAsking = result?.kernel_result_kind === 'CLARIFY';
  const again = request && !isAsking ? intentAgain(request, false) : undefined;
  return [
    ...usual,
    ...(usual.length > 0
      ? [{ does: 'Run it again from its folder, and compare', command: commandFor(word, 'reproduce') }]
      : []),
    ...(again ? [again] : []),
  ];
}

import { instantText } from '../../base/clock.ts';
import { counted } from '../../base/counted.ts';
import { claimedText } from '../../contracts/script-outcome/claimed.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import type { ScriptPlan } from '../../evidence/script/script-run.ts';
import type { ScriptFolder } from '../../evidence/script/script-folder.ts';
import { cutText, cutTexts, shortListOf } from './bounded.ts';
import { endingSentence, endingWords } from './ending-text.ts';
import { commandFor, evidencePart, openSentence, type RunStanding, usualCommands } from './evidence-part.ts';
import { filePart, maskingPart } from './file-part.ts';
import { limitParts, type LimitSources } from './limit-part.ts';
import { DOES_NOT_VERIFY, type PageTop, type SmallPage } from './page-kinds.ts';
import { scriptAgain } from './rerun.ts';
import type { ShortList, PageCommand, PageEvidence, PageFile, RanStep } from './run-data.ts';
import { sandboxPart, type SandboxSources } from './sandbox-part.ts';
import { streamPart } from './stream-part.ts';

/** The page of one script run. */
export interface ScriptPageData {
  readonly script: (ScriptRequest['script'] & { readonly interpreter: string }) | null;
  readonly args: ShortList<string>;
  readonly inputs: ShortList<ScriptRequest['inputs'][number]>;
  readonly env: ShortList<string>;
  readonly secrets: ShortList<string>;
  readonly started_at: string | null;
  /** From the request to the seal, including preparation and teardown. */
  readonly took_ms: number | null;
  /** Null while the run is not finished. */
  readonly ended: ScriptEnded | null;
  readonly step: RanStep | null;
  readonly files: ShortList<PageFile>;
  /** False if Proctor was interrupted before it read the files. */
  readonly is_output_known: boolean;
  /** What the reader must know about the result and its files, in sentences. */
  readonly notes: readonly string[];
  readonly html: string;
  readonly evidence: PageEvidence;
  readonly commands: readonly PageCommand[];
}

interface ScriptEnded {
  readonly status: ScriptOutcome['status'];
  readonly ending: string;
  readonly claim: string;
  /** The script claims a better status than Proctor saw. */
  readonly is_overstated: boolean;
  readonly reason: string | null;
  readonly summary: string | null;
  /** Links the public message to the internal log. */
  readonly reference: string | null;
}

export interface ScriptPageInput extends ScriptFolder, RunStanding {
  readonly id: string;
  /** What Proctor decided before the script started, while the run is not finished. */
  readonly plan?: OpenScriptPlan | undefined;
  /** The stored bytes of a stream; undefined if they cannot be read. */
  readonly streamBytes: (name: 'stdout' | 'stderr') => Uint8Array | undefined;
}

export type OpenScriptPlan = Pick<ScriptPlan, 'runner' | 'enforcement' | 'limits' | 'observed' | 'startedAtMs'>;

export function scriptPage(input: ScriptPageInput): SmallPage<'script'> {
  const { id, request, runner, outcome, metadata, result, plan } = input;
  const { evidence, digests } = evidencePart(input);
  const masking = outcome?.masking;
  const kept = (result?.artifacts ?? []).map(({ path, bytes }) => ({ path, bytes, sha256: digests.get(path) }));
  const { started_at = runner?.timing.started_at, ended_at = runner?.timing.completed_at } = metadata ?? {};
  const data: Omit<ScriptPageData, 'html'> = {
    script: request ? { ...request.script, interpreter: request.interpreter.name } : null,
    args: shortListOf(
      (request?.args ?? []).map(word => cutText(word, WORD_CHARS_MAX)),
      WORDS_MAX,
    ),
    inputs: shortListOf(request?.inputs ?? [], WORDS_MAX),
    env: shortListOf(request?.env_names ?? [], WORDS_MAX),
    secrets: shortListOf(request?.secret_names ?? [], WORDS_MAX),
    started_at: started_at ?? (plan ? instantText(plan.startedAtMs) : null),
    took_ms: started_at && ended_at ? Date.parse(ended_at) - Date.parse(started_at) : null,
    ended: outcome ? endedOf(outcome, result?.error_summary ?? null) : null,
    step: request ? stepOf(input, request) : null,
    files: filePart(kept, outcome?.artifacts.files ?? 0, masking),
    is_output_known: outcome !== undefined && isOutputKnown(outcome),
    notes: outcome ? notesOf(outcome) : [],
    evidence,
    commands: commandsOf(input),
  };
  return {
    kind: 'script',
    top: cutTexts(topOf(input, id, ended_at ?? null)),
    data: { ...cutTexts(data), html: result?.html_output ?? '' },
  };
}

function commandsOf(input: ScriptPageInput): PageCommand[] {
  const { request, outcome, word } = input;
  const again = request && scriptAgain(request);
  const usual = usualCommands(input);
  const hasMore = outcome !== undefined && outcome.public_message !== null && usual.length > 0;
  return [
    ...usual,
    ...(hasMore ? [{ does: 'Show the internal log', command: commandFor(word, 'show', '--internal') }] : []),
    ...(again ? [again] : []),
  ];
}

const WORDS_MAX = 200;
const WORD_CHARS_MAX = 2_000;

function topOf(input: ScriptPageInput, id: string, at: string | null): PageTop {
  const { life, isWhole, request, outcome } = input;
  const name = request?.script.name ?? 'The script';
  const top = { subject: 'Script run', id, at };
  if (life !== 'finished' || !outcome) return { ...top, tone: 'unsure', ...openSentence(name, life) };
  const sentence = [endingSentence(name, outcome, input.runner), statusSentence(outcome)].filter(Boolean).join(' ');
  if (!isWhole)
    return {
      ...top,
      tone: 'bad',
      word: DOES_NOT_VERIFY,
      sentence: `The evidence was changed or is incomplete. It says: ${sentence}`,
    };
  return { ...top, tone: outcome.status === 'succeeded' ? 'good' : 'bad', word: WORDS[outcome.status], sentence };
}

const WORDS = { succeeded: 'Succeeded', failed: 'Failed', timed_out: 'Timed out' } as const;

function statusSentence({ status, claimed_status, ending }: ScriptOutcome): string {
  if (claimed_status === 'succeeded' && status !== 'succeeded') return 'It claims success, but the run failed.';
  const isClean = ending.how === 'exited' && ending.code === 0;
  if (!isClean || status === 'succeeded') return '';
  return claimed_status === null ? 'It left no valid result.' : `It reports: ${WORDS[claimed_status].toLowerCase()}.`;
}

function endedOf(outcome: ScriptOutcome, summary: string | null): ScriptEnded {
  const { status, claimed_status, reason, public_message, correlation_id, ending } = outcome;
  return {
    status,
    ending: endingWords(ending),
    claim: claimed_status === null ? `nothing: it ${claimedText(outcome)}` : WORDS[claimed_status].toLowerCase(),
    is_overstated: claimed_status === 'succeeded' && status !== 'succeeded',
    reason,
    summary: summary === null ? null : cutText(summary, SUMMARY_CHARS_MAX),
    reference: public_message === null ? null : correlation_id,
  };
}

const SUMMARY_CHARS_MAX = 4_000;

/** The streams are read from the evidence, so an unfinished run has only its limits and its sandbox. */
function stepOf(input: ScriptPageInput, request: ScriptRequest): RanStep | null {
  const { outcome, plan, runner, metadata, streamBytes } = input;
  if (!outcome) {
    if (!plan) return null;
    const unknown = { usage: NOT_MEASURED, output: null, absent: undefined };
    return { ...boundsOf({ ...plan, ...unknown }, request), streams: [], masking: null, recovered: null };
  }
  const output = isOutputKnown(outcome) ? outcome.artifacts : null;
  return {
    ...boundsOf({ ...outcome, runner, output, absent: metadata?.runner_record_absent }, request),
    streams: outcome.streams.map(stream =>
      streamPart(stream, `evidence/steps/script/${stream.name}.txt`, streamBytes(stream.name)),
    ),
    masking: maskingPart(outcome.masking),
    recovered: outcome.recovered ?? null,
  };
}

const NOT_MEASURED = { cpu_ms: null, memory_peak_bytes: null, forks_denied: null };

type BoundSources = Omit<LimitSources & SandboxSources, 'asked'>;

/** The limits and the sandbox: what was requested, and what held. */
function boundsOf(
  from: BoundSources,
  { requested, env_names, secret_names }: ScriptRequest,
): Pick<RanStep, 'limits' | 'further' | 'sandbox'> {
  const asked = {
    timeout_ms: requested.timeout_ms,
    idle_timeout_ms: requested.idle_timeout_ms,
    cpu_seconds: requested.cpu_seconds,
    cpus: requested.cpus,
    memory_bytes: requested.memory_bytes,
    processes: requested.pids,
    output_files: requested.max_output_files,
    output_bytes: requested.max_total_output_bytes,
  };
  const { profile, sandbox, isolation } = requested;
  const wanted = [
    sandbox && `sandbox ${sandbox}`,
    isolation && `isolation ${isolation}`,
    profile && `profile ${profile}`,
  ];
  const variables = new Set([...env_names, ...secret_names]).size;
  const environment = variables === 0 ? 'no variables' : counted(variables, 'variable');
  return {
    ...limitParts({ ...from, asked }),
    sandbox: sandboxPart({
      ...from,
      asked: { sandbox: wanted.filter(Boolean).join(', ') || null, network: null, environment },
    }),
  };
}

const isOutputKnown = ({ recovered }: ScriptOutcome): boolean => recovered?.unknown.includes('output') !== true;

function notesOf({ salvaged, replaced, cuts, artifacts, result }: ScriptOutcome): string[] {
  const { declared_missing, undeclared, size_mismatches } = artifacts;
  const named = declared_missing.slice(0, NAMES_MAX).join(', ');
  return [
    ...(salvaged ? ['The run did not succeed. Proctor kept its files anyway.'] : []),
    ...replaced
      .slice(0, NAMES_MAX)
      .map(what => REPLACED.get(what) ?? `Proctor replaced ${what}, because it is not safe to show.`),
    ...cuts
      .filter(({ what }) => what !== 'stdout' && what !== 'stderr')
      .slice(0, NAMES_MAX)
      .map(({ what, bytes_kept, bytes_total }) => `Proctor kept ${bytes_kept} of ${bytes_total} bytes of ${what}.`),
    ...(declared_missing.length > 0 ? [`The script lists files that do not exist: ${named}.`] : []),
    ...(undeclared > 0 ? [`The script does not list ${undeclared} of its files.`] : []),
    ...(size_mismatches > 0 ? [`The script states a wrong size for ${size_mismatches} of its files.`] : []),
    ...(result && result.unknown_keys.length > 0
      ? [`Proctor ignored unknown keys in the result: ${result.unknown_keys.slice(0, NAMES_MAX).join(', ')}.`]
      : []),
  ].map(note => cutText(note, SUMMARY_CHARS_MAX));
}

const NAMES_MAX = 20;

const REPLACED: ReadonlyMap<string, string> = new Map([
  ['error_summary', 'Proctor replaced the error summary, because it is not safe to show.'],
  ['html_output', 'The HTML contained U+0000, which Proctor replaced with U+FFFD.'],
]);

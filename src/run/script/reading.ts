import { clip } from '../../base/clip.ts';
import { causeText, Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { type MaskedKinds, Masker, maskingOf, needlesOf } from '../../base/masker.ts';
import { redactCut } from '../../base/redact.ts';
import type { Ending } from '../../contracts/ending.ts';
import type { ScriptResult } from '../../contracts/script-result/index.ts';
import { isTime } from '../../evidence/step/endings.ts';
import type { OutputReading } from '../../evidence/ingest/output.ts';
import { publicSentence } from '../../evidence/ingest/reason.ts';
import type { ResultReading } from '../../evidence/ingest/result.ts';
import { secretForms } from '../../base/secret-forms.ts';
import { type Flagged, flagWarnings } from '../../evidence/ingest/flags.ts';
import { safeHtml, safeSummary } from '../../evidence/ingest/texts.ts';
import type { Caps } from '../../policy/caps.ts';
import type { Remark } from '../../evidence/step/log.ts';
import type { ScriptReading } from '../../evidence/script/script-run.ts';

/** How a script ended, and what it left. */
export interface Facts {
  readonly ending: Ending;
  readonly result: ResultReading;
  /** A fault if Proctor could not store the output. */
  readonly output: OutputReading | Fault;
  /** Stored files that contain secrets, or whose names suggest that they do. */
  readonly flagged: readonly Flagged[];
  readonly secrets: readonly string[];
  readonly keepCredentials?: boolean;
  readonly caps: Caps;
  readonly correlationId: string;
}

/** Judges a run by Proctor's clocks first, then cancellation, the kernel, the contract, and last the script's claim. */
export function scriptReading(facts: Facts): ScriptReading {
  const { result, output, secrets } = facts;
  const verdict = verdictOf(facts);
  const files = isStored(output) ? output.files : [];
  const claimed = result.ok ? result.value : undefined;
  const html = htmlOf(claimed?.html_output ?? '', facts);
  const hasNul = claimed?.html_output.includes('\0') === true;
  const hide = hiding(secrets);
  const { note, kinds } = noteOf(facts, hide);
  const summary = summaryOf(verdict, claimed, facts);
  return {
    status: verdict.status,
    claimedStatus: claimed?.status ?? null,
    reason: verdict.reason,
    publicMessage: verdict.reason === null ? null : (verdict.message ?? summary.text),
    timeoutSource: verdict.timeoutSource ?? null,
    salvaged: verdict.status !== 'succeeded' && files.length > 0 && !(claimed && verdict.isClaim),
    htmlOutput: html.text,
    errorSummary: summary.text,
    result: note,
    files,
    // If the output could not be stored, no file counts as missing.
    artifacts: compared(output instanceof Fault ? [] : (claimed?.artifacts ?? []), files, hide),
    cuts: [...html.cuts, ...summary.cuts],
    replaced: [...(hasNul ? ['html_output'] : []), ...summary.replaced],
    remarks: [...remarksOn(facts, verdict, hide), ...(hasNul ? [NUL_REPLACED] : []), ...summary.remarks],
    warnings: flagWarnings(facts.flagged),
    masking: {
      credentials: facts.keepCredentials ? 'kept' : 'masked',
      kinds,
      flagged: facts.flagged.map(flag => ({ ...flag, path: hide(flag.path) })),
    },
  };
}

function isStored(output: Facts['output']): output is OutputReading & { readonly ok: true } {
  return !(output instanceof Fault) && output.ok;
}

interface Verdict {
  readonly status: ScriptResult['status'];
  readonly reason: string | null;
  /** The public message; undefined if the script's own message is shown. */
  readonly message?: string;
  readonly timeoutSource?: 'proctor' | 'script';
  /** The verdict follows the script's own claim. */
  readonly isClaim?: true;
}

function verdictOf({ ending, result, output }: Facts): Verdict {
  if (isTime(ending)) return { status: 'timed_out', timeoutSource: 'proctor', ...timeReason(ending) };
  const byEnding = failedBy(ending);
  if (byEnding) return { status: 'failed', ...byEnding };
  if (!result.ok) {
    const hasCrashed = result.code === 'result_missing' && ending.how === 'exited' && ending.code !== 0;
    return { status: 'failed', reason: result.code, message: hasCrashed ? CRASHED : publicSentence(result.code) };
  }
  if (output instanceof Fault) return { status: 'failed', reason: output.code, message: NOT_STORED };
  if (!output.ok) return { status: 'failed', reason: output.code, message: publicSentence(output.code) };
  const { status } = result.value;
  if (status === 'timed_out') return { status, reason: 'script_timed_out', timeoutSource: 'script', isClaim: true };
  if (status === 'failed') return { status, reason: 'script_failed', isClaim: true };
  if (ending.how === 'exited' && ending.code !== 0) {
    const message = 'The script reported success, but it exited with an error.';
    return { status: 'failed', reason: 'exit_code', message };
  }
  return { status, reason: null, isClaim: true };
}

const NOT_STORED = "Proctor could not store the run's output. The script did not cause this.";
const CRASHED = 'The script exited with an error before it wrote a result.';

function timeReason(ending: Ending): { reason: string; message: string } {
  const by = ending.how === 'killed' ? ending.by : 'timeout';
  if (by === 'idle')
    return { reason: 'idle_timeout', message: 'The run printed nothing for too long and was stopped.' };
  if (by === 'cpu') return { reason: 'cpu_timeout', message: 'The run exceeded its CPU time limit.' };
  return { reason: 'wall_timeout', message: 'The run exceeded its time limit.' };
}

/** Endings that override the script's claim. */
function failedBy(ending: Ending): { reason: string; message: string } | undefined {
  if (ending.how === 'exited') return undefined;
  if (ending.how === 'killed') return ending.by === 'policy' ? FAILED_BY.policy : FAILED_BY.cancel;
  return FAILED_BY[ending.how];
}

const FAILED_BY = {
  policy: { reason: 'policy', message: 'The run violated its policy and was stopped.' },
  cancel: { reason: 'cancelled', message: 'The run was cancelled.' },
  out_of_memory: { reason: 'oom_killed', message: 'The run exceeded its memory limit.' },
  signalled: { reason: 'killed_by_signal', message: 'The run crashed.' },
  not_started: { reason: 'not_started', message: 'The program could not be started.' },
  lost: { reason: 'interrupted', message: 'Proctor was interrupted before the run was complete.' },
} as const;

interface Summary {
  readonly text: string | null;
  readonly cuts: ScriptReading['cuts'];
  readonly replaced: ScriptReading['replaced'];
  readonly remarks: readonly Remark[];
}

/** The message for end users: the script's, if it is safe to show, else one of ours. */
function summaryOf(
  verdict: Verdict,
  claimed: ScriptResult | undefined,
  { secrets, caps, correlationId }: Facts,
): Summary {
  const none = { cuts: [], replaced: [], remarks: [] };
  const said = claimed?.error_summary ?? null;
  if (verdict.status === 'succeeded') {
    if (said === null) return { ...none, text: null };
    const detail = 'The script gave an error summary although it reported success. The summary is not shown.';
    return { ...none, text: null, replaced: ['error_summary'], remarks: [note('summary_of_success', detail)] };
  }
  if (verdict.message !== undefined) return { ...none, text: `${verdict.message} Reference: ${correlationId}.` };
  const safe = safeSummary(said, secrets, caps.summaryBytes);
  const text = safe.text ?? UNSAID[verdict.status];
  if (safe.changed === 'unsafe' || safe.changed === 'redacted') {
    const detail =
      'The error summary contained a stack trace, a path or a secret, so it is not shown. The raw result contains it.';
    return {
      ...none,
      text,
      replaced: ['error_summary'],
      remarks: [{ level: 'error', code: 'unsafe_summary', detail }],
    };
  }
  const cut = { what: 'error_summary', bytes_total: safe.bytesTotal, bytes_kept: Buffer.byteLength(text) };
  return { ...none, text, cuts: safe.changed === 'cut' && cut.bytes_kept < cut.bytes_total ? [cut] : [] };
}

/** For a script that gave no message, or none that can be shown. */
const UNSAID = {
  failed: 'The script reported a failure and gave no message.',
  timed_out: 'The script reported a timeout and gave no message.',
} as const;

/** Cut bytes are counted after masking, as in streams, because a mask may be longer than the secret. */
function htmlOf(
  said: string,
  { secrets, caps, keepCredentials }: Facts,
): { text: string; cuts: ScriptReading['cuts'] } {
  const whole = safeHtml(said, secrets, Number.POSITIVE_INFINITY, keepCredentials).text;
  const first = safeHtml(said, secrets, caps.htmlBytes, keepCredentials).text;
  const isFlood = Buffer.byteLength(JSON.stringify(first)) > JSON_BYTES_MAX;
  const text = isFlood ? clip(first, JSON_BYTES_MAX / ESCAPE_BYTES).text : first;
  if (text === whole) return { text, cuts: [] };
  const [bytes_total, bytes_kept] = [Buffer.byteLength(whole), Buffer.byteLength(text)];
  return { text, cuts: [{ what: 'html_output', bytes_total, bytes_kept }] };
}

/** The size that script-result leaves for the HTML. JSON escapes a control character with six bytes. */
const JSON_BYTES_MAX = 1_000_000;
const ESCAPE_BYTES = 6;

/** Redacts names that the script chose. They may contain secrets, and long ones are already cut. */
function hiding(secrets: readonly string[]): (text: string) => string {
  const needles = needlesOf(secrets);
  const forms = secretForms(secrets);
  return text => redactCut(text, needles, forms).text;
}

/** Hashes the masked result: a digest of a secret would let anyone test guesses. */
function noteOf(
  { result, secrets, keepCredentials }: Facts,
  hide: (text: string) => string,
): { readonly note: ScriptReading['result']; readonly kinds: MaskedKinds } {
  const masker = new Masker(maskingOf(secrets, keepCredentials));
  if (!result.ok) return { note: null, kinds: {} };
  const bytes = masker.whole(result.bytes);
  const unknown_keys = result.notes.unknown_keys.map(hide);
  return { note: { sha256: bytesHash(bytes), bytes: bytes.length, unknown_keys }, kinds: masker.kinds };
}

/** Compares the files that the script declared with those that exist. The files decide. */
function compared(
  declared: ScriptResult['artifacts'],
  files: ScriptReading['files'],
  hide: (text: string) => string,
): ScriptReading['artifacts'] {
  const sizes = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const named = new Map(declared.map(({ path, bytes }) => [normal(path), bytes]));
  return {
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    declared_missing: [...named.keys()]
      .filter(path => !sizes.has(path))
      .slice(0, MISSING_MAX)
      .map(hide),
    undeclared: files.filter(({ path }) => !named.has(path)).length,
    size_mismatches: [...named].filter(([path, bytes]) => sizes.has(path) && sizes.get(path) !== bytes).length,
  };
}

const MISSING_MAX = 50;

/** Turns `./output/x` and `output/./x` into `output/x`. */
function normal(path: string): string {
  return path
    .split('/')
    .filter(segment => segment !== '.')
    .join('/');
}

function remarksOn({ result, output, flagged }: Facts, { reason }: Verdict, hide: (text: string) => string): Remark[] {
  const remarks: Remark[] = [];
  if (!result.ok) {
    const level = reason === result.code ? 'error' : 'warning';
    remarks.push({ level, code: result.code, detail: hide(result.detail) });
  }
  if (output instanceof Fault) {
    remarks.push({ level: 'error', code: output.code, detail: `${output.message} ${causeText(output.cause)}` });
  } else if (!output.ok) remarks.push({ level: 'error', code: output.code, detail: hide(output.detail) });
  for (const { path, code, kinds } of flagged.slice(0, MISSING_MAX)) {
    const detail = `Review ${hide(path)}${kinds.length > 0 ? `: ${kinds.join(', ')}` : ''}.`;
    remarks.push({ level: 'warning', code, detail });
  }
  return remarks;
}

function note(code: string, detail: string): Remark {
  return { level: 'note', code, detail };
}

const NUL_REPLACED = note(
  'nul_replaced',
  'The HTML contained U+0000, which is replaced with U+FFFD. The raw result contains it.',
);

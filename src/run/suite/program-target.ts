import { Masker, maskingOf } from '../../base/masker.ts';
import type { KeptStream } from '../../contracts/capture.ts';
import { observe } from '../../execute/launcher/canary.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import { CallError } from '../../targets/calls.ts';
import type { FilledProgram, ProgramCall } from '../../targets/program-call.ts';
import type { ReplyReader } from '../../targets/reader.ts';
import type { SideName } from '../../targets/reply.ts';
import { attemptProgram, type ProgramAnswer } from './program-attempt.ts';
import { agentFailed, endingFailure, functionFailure, type ProgramFailure } from './program-failure.ts';
import { type DeclaredProgram, replyFileOf } from './program-job.ts';
import { printedBy, ProgramLog } from './program-log.ts';
import { BODY_LEFT_OUT, hasPieces, hasSecret, SECRET_IN_PIECES } from './http-target.ts';
import { questionValues } from './question-values.ts';
import type { SuiteSettings } from './settings.ts';
import {
  type AttemptResult,
  type Body,
  CANCELLED,
  type CaseQuestion,
  type FailedAttempt,
  type Target,
} from './target.ts';

/** A program that answers one case per process. */
export interface ProgramAgent extends DeclaredProgram {
  readonly call: ProgramCall;
  readonly launcher: () => Promise<Launcher>;
  /** Where to remember that the sandbox isolates programs on this machine. */
  readonly rememberIn?: string;
  readonly side: SideName;
  readonly runId: string;
  readonly read: ReplyReader;
  /** See HttpApi. */
  readonly joins?: boolean;
  readonly variable: (name: string) => string | undefined;
  readonly settings: SuiteSettings;
  /** Sees every run of the program. Only its output is masked. */
  readonly onProgram?: (run: SeenProgram) => void;
}

export interface SeenProgram extends FilledProgram {
  readonly ended: string;
  readonly output: string;
  /** What it printed besides its reply. */
  readonly log: string;
}

/** Asks a program: one process per attempt, within its limits. */
export function programTarget(agent: ProgramAgent): Target {
  const fixed = { env: agent.variable, side: agent.side, run: { id: agent.runId } };
  let observed: Promise<unknown> | undefined;
  const log = new ProgramLog();
  const isReplyPrinted = replyFileOf(agent.declaration) === undefined;
  return {
    async ask({ one, key, attempt, signal }: CaseQuestion): Promise<AttemptResult> {
      const values = { ...fixed, ...questionValues(one, key) };
      try {
        const launcher = await agent.launcher();
        const answer = await attemptProgram(
          agent,
          output => agent.call({ ...values, ...(output !== undefined && { output }) }),
          { launcher, signal, observe: job => (observed ??= observe(launcher, job, agent.rememberIn)) },
        );
        const outcome = outcomeOf(answer, one.id, agent);
        const printed = printedBy(answer.capture, isReplyPrinted);
        log.add(one.id, attempt, printed);
        agent.onProgram?.(seenOf(answer, outcome, printed));
        const { durationMs = 0 } = answer.capture.phases.find(({ name }) => name === 'execute') ?? {};
        return { latencyMs: durationMs, outcome };
      } catch (error) {
        if (signal.aborted) return { latencyMs: 0, outcome: CANCELLED };
        if (error instanceof CallError) return { latencyMs: 0, outcome: notSent(error.message) };
        throw error;
      }
    },
    // Each attempt observes the signal of its question.
    cancel: () => undefined,
    evidence: () => Promise.resolve(log.assets()),
    close: async () => undefined,
  };
}

function notSent(message: string): FailedAttempt {
  return { ok: false, class: 'other', message, errorName: 'NOT_SENT', mayRetry: false };
}

/** Reads the reply of a program, or says why there is none. */
function outcomeOf(answer: ProgramAnswer, id: string, agent: ProgramAgent): AttemptResult['outcome'] {
  const { capture, file, failed } = answer;
  const { ending, stdout } = capture;
  if (ending.how === 'killed' && ending.by === 'cancel') return CANCELLED;
  const masking = maskingOf(agent.secrets, agent.keepCredentials);
  const masker = new Masker(masking);
  if (failed) {
    const folders = [agent.dir, '/agent/target'];
    return withLog(functionFailure(failed, masker, folders), answer);
  }
  const failure = endingFailure(ending, agent.effective);
  if (failure) return withLog(failure, answer);
  if (file === 'missing') return withLog(agentFailed(missingText(agent), 'AGENT_FAILED'), answer);
  if (file === 'too large') return withLog(tooLarge(agent.settings), answer);
  if (!file && stdout.bytesTotal > stdout.head.length) {
    return { ...tooLarge(agent.settings), ok: false, masked: stdout.kinds ?? {}, body: bodyOf(stdout) };
  }
  const body = file ? masker.whole(file) : Buffer.from(stdout.head);
  const masked = file ? masker.kinds : (stdout.kinds ?? {});
  const kept = { body };
  const reading = agent.read(kept, { caseId: id, side: agent.side });
  if (reading.ok && agent.joins && hasSecret(reading.reply, masking)) return SECRET_IN_PIECES;
  if (reading.ok) return { ...reading, masked, bytes: body.length, kept };
  const unread = { ...reading, message: new Masker(masking).text(reading.message), mayRetry: false };
  if (agent.joins && hasPieces(body, masking)) return { ...unread, message: `${unread.message} ${BODY_LEFT_OUT}` };
  const whole = { bytes: body, bytesTotal: body.length, truncated: false, contentType: null, headers: {} };
  return { ...unread, masked, ...(body.length > 0 && { body: whole }) };
}

function missingText({ declaration }: ProgramAgent): string {
  return declaration.kind === 'function'
    ? 'The function ended without a value.'
    : 'The program did not write its output file.';
}

function tooLarge({ bodyBytesMax }: SuiteSettings): ProgramFailure {
  return agentFailed(`The answer is larger than ${bodyBytesMax} bytes.`, 'TOO_LARGE');
}

/** What a program printed is the evidence of its failure: standard error or, without any, standard output. */
function withLog(failure: ProgramFailure, { capture: { stdout, stderr } }: ProgramAnswer): FailedAttempt {
  const stream = stderr.bytesTotal > 0 ? stderr : stdout;
  return {
    ...failure,
    ok: false,
    masked: stream.kinds ?? {},
    ...(stream.bytesTotal > 0 && { body: { ...bodyOf(stream), isLog: true } }),
  };
}

function bodyOf({ head, tail, bytesTotal }: KeptStream): Body {
  const bytes = Buffer.concat([head, tail]);
  return { bytes, bytesTotal, truncated: bytes.length < bytesTotal, contentType: null, headers: {} };
}

function seenOf(
  { filled, capture: { ending } }: ProgramAnswer,
  outcome: AttemptResult['outcome'],
  log: Buffer,
): SeenProgram {
  const failed = outcome.ok || outcome.body?.isLog ? undefined : outcome.body?.bytes;
  const output = (outcome.ok ? outcome.kept?.body : failed) ?? Buffer.alloc(0);
  return {
    ...filled,
    ended: ending.how === 'exited' ? `exited with code ${ending.code}` : ending.how,
    output: output.toString(),
    log: log.toString(),
  };
}

import { monotonicMs } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { HttpAnswer } from '../../execute/http.ts';
import type { CommandContext, DeclaredCommand } from '../../execute/served/command.ts';
import { startTalking, type TalkedLine, type TalkingProgram } from '../../execute/served/talking.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import { isResponseTo, readRpc, replyToServer, rpcText } from '../../targets/mcp.ts';
import { type ResponseFailure, responseFailure } from './http-failure.ts';
import type { HttpApi } from './http-target.ts';
import {
  type McpAnswer,
  type McpChannel,
  type McpContext,
  type McpRequest,
  OTHER_MESSAGES_MAX,
  TOO_MANY_MESSAGES,
} from './mcp-channel.ts';
import { idIn } from './mcp-http.ts';
import { RestartLog } from './mcp-log.ts';
import { PendingRpc } from './mcp-pending.ts';
import type { SuiteSettings } from './settings.ts';

export interface McpStdioOptions extends Pick<HttpApi, 'onExchange'> {
  readonly command: DeclaredCommand;
  readonly context: CommandContext;
  readonly settings: SuiteSettings;
}

/** Speaks with a program over its standard streams. All requests share one program, which is started again if it ends. */
export class McpStdioChannel implements McpChannel {
  generation = 0;
  readonly #options: McpStdioOptions;
  readonly #pending = new Map<number, PendingRpc>();
  readonly #log = new RestartLog();
  #program: TalkingProgram | undefined;
  #starting: Promise<void> | undefined;
  #stopped: Promise<void> = Promise.resolve();
  #survivors = 0;
  #ids = 0;
  #others = 0;
  #isLegacy = false;
  #isClosed = false;

  constructor(options: McpStdioOptions) {
    this.#options = options;
  }

  /** Starts the program, unless it runs. Throws a Fault if it does not start. */
  async start(): Promise<void> {
    if (this.#program && !this.#program.hasEnded()) return;
    this.#starting ??= this.#startAgain().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  async request(request: McpRequest): Promise<McpAnswer> {
    const startedMs = monotonicMs();
    const isProbe = request.method === 'server/discover';
    const deadlineMs = isProbe ? Math.min(PROBE_MS, request.deadlineMs / 2) : request.deadlineMs;
    const { revision, method, params } = request;
    this.#isLegacy = revision !== undefined;
    const id = ++this.#ids;
    const body = rpcText({ id, method, params }, revision === undefined);
    const answer = await this.#answerTo(id, body, deadlineMs);
    const whole = { ...answer, latencyMs: monotonicMs() - startedMs };
    this.#options.onExchange?.({ method: 'POST', path: '', headers: {}, body }, whole);
    const isLost = answer.ended === 'timeout' || answer.ended === 'idle' || answer.errorName === ENDED;
    return { ...this.#read(id, whole), mayBeLegacy: isProbe && isLost };
  }

  async notify(method: string, _context: McpContext): Promise<void> {
    this.#program?.write(rpcText({ method, params: {} }, false));
  }

  async leave(): Promise<void> {
    // The session ends with the program.
  }

  cancel(): void {
    for (const pending of this.#pending.values()) pending.end('cancelled');
  }

  /** Stops the program. Its standard error is evidence. */
  async evidence(): Promise<readonly Asset[]> {
    await this.close();
    const { bytes } = this.#log;
    return bytes.length === 0 ? [] : [{ href: 'assets/target.log', kind: 'other', caseId: null, bytes }];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#starting?.catch(() => undefined);
    await this.#stop();
    if (this.#survivors > 0) throw new Fault('processes_left', 'Some processes of the agent could not be killed.');
  }

  async #startAgain(): Promise<void> {
    await this.#stop();
    if (this.#isClosed) throw new Fault('cancelled', 'The run has ended.');
    const { command, context, settings } = this.#options;
    this.#others = 0;
    this.generation++;
    const { generation } = this;
    this.#program = await startTalking(command, context, {
      lineBytesMax: settings.bodyBytesMax,
      onLine: line => generation === this.generation && this.#take(line),
      onData: () => this.#refresh(),
      onEnd: () => generation === this.generation && this.#endAll('broken', ENDED),
    });
  }

  /** Resolves when every program that was started has ended. */
  #stop(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    this.#endAll('broken', ENDED);
    if (program) this.#stopped = this.#end(program, this.#stopped);
    return this.#stopped;
  }

  async #end(program: TalkingProgram, earlier: Promise<void>): Promise<void> {
    const { log, survivors } = await program.stop();
    // Logs are kept in the order of the starts.
    await earlier;
    this.#log.add(log);
    this.#survivors += survivors;
  }

  async #answerTo(id: number, body: string, deadlineMs: number): Promise<HttpAnswer> {
    const pending = new PendingRpc(deadlineMs, this.#options.settings.idleMs);
    const isStarted = await this.#isStarted();
    this.#pending.set(id, pending);
    if (!isStarted || !this.#program?.write(body)) pending.end('broken', ENDED);
    const answer = await pending.answer;
    this.#pending.delete(id);
    return answer;
  }

  async #isStarted(): Promise<boolean> {
    try {
      await this.start();
      return true;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  }

  #refresh(): void {
    for (const pending of this.#pending.values()) pending.refresh();
  }

  #endAll(ended: HttpAnswer['ended'], errorName: string): void {
    for (const pending of this.#pending.values()) pending.end(ended, errorName);
  }

  #take({ bytes, cut }: TalkedLine): void {
    const message = cut ? undefined : readRpc(bytes);
    const id = message ? message['id'] : (idIn(bytes) ?? (cut && idIn(cut.tail)));
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (pending && (!message || isResponseTo(id as number, message))) {
      pending.respond(bytes, cut?.bytesTotal);
      this.#others = 0;
    } else if (++this.#others > OTHER_MESSAGES_MAX) {
      this.#endAll('broken', FLOODED);
      void this.#stop();
    } else if (message && this.#isLegacy) {
      const reply = replyToServer(message);
      if (reply !== undefined) this.#program?.write(reply);
    }
  }

  #read(id: number, answer: HttpAnswer): Omit<McpAnswer, 'mayBeLegacy'> {
    const message = answer.ended === 'complete' ? readRpc(answer.body) : undefined;
    return {
      answer,
      response: message && isResponseTo(id, message) ? message : undefined,
      failure: this.#failureOf(answer),
    };
  }

  #failureOf(answer: HttpAnswer): ResponseFailure | undefined {
    if (answer.errorName === FLOODED) return TOO_MANY_MESSAGES;
    if (answer.errorName === ENDED) return SERVER_ENDED;
    return responseFailure({ ...answer, status: 200 }, this.#options.settings);
  }
}

/** Servers that predate `server/discover` may not answer it at all. */
const PROBE_MS = 5_000;

const ENDED = 'AGENT_ENDED';
const FLOODED = 'TOO_MANY_MESSAGES';

const SERVER_ENDED: ResponseFailure = {
  class: 'network_error',
  message: 'The server that Proctor started ended, or could not be started again.',
  errorName: ENDED,
  mayRetry: true,
};

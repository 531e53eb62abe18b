import { counted } from '../../base/counted.ts';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { runQueueWorker, type WorkerOptions } from '../../verbs/worker.ts';
import { allowedOrigins } from '../options/origins.ts';
import { interruptions } from '../options/interruptions.ts';
import { tracingHere } from '../options/tracing.ts';
import { serverToken } from '../options/server-token.ts';
import { namedKey, queueAddress, variables } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';

export interface WorkerFlags {
  readonly queue?: string | true;
  readonly on?: string;
  readonly tokenFile?: string;
  readonly slots: number;
  readonly name?: string;
  readonly secret?: readonly string[];
  readonly allowScript?: readonly string[];
  readonly allowAgent?: readonly string[];
  readonly allowTarget?: readonly string[];
  readonly store?: string;
  readonly drain: number;
  readonly json?: true;
}

/** Makes attempts until a signal. */
export async function workerCommand(flags: WorkerFlags): Promise<number> {
  const interrupt = interruptions();
  const source = sourceOf(flags);
  const { name, store } = flags;
  const tracing = await tracingHere();
  try {
    await runQueueWorker({
      ...namedKey(),
      ...defined({
        name,
        store,
        tracer: tracing?.tracer,
        allowScripts: flags.allowScript,
        allowAgents: flags.allowAgent,
        allowTargets: flags.allowTarget && allowedOrigins(flags.allowTarget),
      }),
      ...source,
      environment: process.env,
      slots: flags.slots,
      secrets: variables(flags.secret ?? [], false),
      drainMs: flags.drain,
      signal: interrupt.signal,
      ...watching(flags.json === true),
    });
    return interrupt.name() === 'SIGINT' ? SIGINT_EXIT : 0;
  } finally {
    await tracing?.end();
    interrupt.end();
    await closeLauncher();
  }
}

/** A server or a queue. PROCTOR_QUEUE does not count if a server is named. */
function sourceOf({ queue, on, tokenFile }: WorkerFlags): Pick<WorkerOptions, 'on' | 'queue'> {
  if (on !== undefined && queue !== undefined) throw new Fault('usage', 'Specify --on or --queue, not both.');
  if (on !== undefined) return { on: { url: on, token: serverToken(tokenFile) } };
  return { queue: queueAddress(typeof queue === 'string' ? queue : undefined) };
}

const SIGINT_EXIT = 130;

/** As JSON every event; as text only what needs attention. */
function watching(isJson: boolean): Pick<WorkerOptions, 'onReady' | 'onEvent'> {
  if (isJson)
    return {
      onReady: ({ worker, keyId }) => print({ is: 'ready', worker, key_id: keyId }),
      onEvent: ({ is, ...event }) => {
        const { isSpooled, ...known } = event as { isSpooled?: boolean };
        print({ is, ...known, ...(isSpooled !== undefined && { spooled: isSpooled }) });
      },
    };
  return {
    onReady: ({ worker, keyId }) => say(`Worker ${worker} is ready. It signs with ${keyId}.`),
    onEvent: event => {
      if (event.is === 'lost')
        say(
          `${event.key} no longer counts: its run was cancelled, or it was lost.${event.isSpooled ? ' Its outcome is in .proctor/spool.' : ''}`,
        );
      if (event.is === 'unable') say(`This worker takes no more attempts for ${event.needs}: ${event.why}`);
      if (event.is === 'unreachable') say(`${event.why} This worker keeps trying.`);
      if (event.is === 'reachable') say('The queue can be reached again.');
      if (event.is === 'draining') say(`Waiting for ${counted(event.attempts, 'attempt')}.`);
    },
  };
}

function print(event: object): void {
  stdout.write(`${JSON.stringify(event)}\n`);
}

function say(sentence: string): void {
  stderr.write(`${printable(sentence)}\n`);
}

import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { Audit } from './audit.ts';
import { TERMINAL } from './identity.ts';

interface TerminalAct<Value> {
  /** The name of the route that does the same. */
  readonly verb: string;
  /** The path of that route, or the one of what the act made. */
  readonly thing: string;
  readonly act: () => Promise<Value>;
  readonly made?: (value: Value) => string;
}

/** Does what a command asks, with its lines in the audit log of the server, whether one runs or not. */
export async function terminalAct<Value>(
  folder: string,
  clock: Clock,
  { verb, thing, act, made }: TerminalAct<Value>,
): Promise<Value> {
  const audit = Audit.ofCommand(folder, clock);
  try {
    const note = audit.begin({ who: TERMINAL, verb, thing, correlationId: newCorrelationId() });
    try {
      const value = await act();
      note.end('done', undefined, made?.(value));
      return value;
    } catch (error) {
      const code = error instanceof Fault ? error.code : 'bug';
      note.end(REFUSALS.has(code) ? 'refused' : 'failed', code);
      throw error;
    }
  } finally {
    audit.close();
  }
}

/** What the command asked for cannot be done. Everything else is a failure of this machine. */
const REFUSALS: ReadonlySet<string> = new Set(['usage', 'not_found', 'too_many']);

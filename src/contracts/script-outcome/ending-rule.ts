import { must, rulesFor } from '../rule.ts';
import { recoveredFindings, RECOVERED_ASKS } from './recovered.ts';
import type { ScriptOutcome } from './shape.ts';

/** The time limits that end a run. */
const CLOCKS: ReadonlySet<string> = new Set(['timeout', 'idle', 'cpu']);

export const SO5 = rulesFor<ScriptOutcome>()({
  id: 'SO5',
  title: 'Ending Consistent',
  why: 'A program ends in exactly one way, and a timeout must say whether Proctor or the script detected it.',
  asks: [
    'ending has how: exited, signalled, killed, out_of_memory, not_started or lost',
    'exited and out_of_memory have code, 0 to 255; not_started has code, 126 or 127',
    'signalled and killed have signal, such as SIGKILL; killed has by: timeout, idle, cpu, cancel or policy',
    'timeout_source is proctor or script if status is timed_out, and null otherwise',
    'timeout_source is proctor if and only if the program was killed by timeout, idle or cpu',
    'if timeout_source is script, claimed_status is timed_out',
    ...RECOVERED_ASKS,
    'if recovered is present, status is not succeeded',
  ],
  fields: ['ending', 'timeout_source', 'recovered'],
  reads: ['status', 'claimed_status'],
  *check({ ending, timeout_source, recovered, status, claimed_status }) {
    yield* recoveredFindings(recovered);
    if (recovered && status === 'succeeded') yield must('recovered', 'must be absent if status is "succeeded"');
    const isOurs = ending.how === 'killed' && CLOCKS.has(ending.by);
    if (status === 'timed_out' && timeout_source === null) {
      yield must('timeout_source', 'must not be null if the run timed out');
    } else if (status !== 'timed_out' && timeout_source !== null) {
      yield must('timeout_source', 'must be null if the run did not time out');
    } else if (timeout_source === 'proctor' && !isOurs) {
      yield must('ending', 'must be killed by timeout, idle or cpu if timeout_source is "proctor"');
    } else if (timeout_source !== 'proctor' && isOurs) {
      yield must('timeout_source', 'must be "proctor" if the program was killed by timeout, idle or cpu');
    } else if (timeout_source === 'script' && claimed_status !== 'timed_out') {
      yield must('timeout_source', 'must not be "script" if the script did not claim a timeout');
    }
  },
  breach: outcome => ({ ...outcome, timeout_source: 'proctor' }),
});

import { must, rulesFor } from '../rule.ts';
import { doubtRecovered, RECOVERED_ASKS } from './recovered.ts';
import type { ScriptOutcome } from './shape.ts';

/** Which of our clocks ends a run that took too long. */
const CLOCKS: ReadonlySet<string> = new Set(['timeout', 'idle', 'cpu']);

export const SO5 = rulesFor<ScriptOutcome>()({
  id: 'SO5',
  title: 'Ending Consistent',
  why: 'How a program ended is one value, and a run that took too long says whose clock found that.',
  asks: [
    'ending has how: exited, signalled, killed, out_of_memory, not_started or lost',
    'exited and out_of_memory have code, 0 to 255; not_started has code, 126 or 127',
    'signalled and killed have signal, such as SIGKILL; killed has by: timeout, idle, cpu, cancel or policy',
    'timeout_source is proctor or script where status is timed_out, and else null',
    'timeout_source is proctor exactly where the program was killed by timeout, idle or cpu',
    'where timeout_source is script, claimed_status is timed_out',
    ...RECOVERED_ASKS,
    'where recovered is there, status is not succeeded',
  ],
  fields: ['ending', 'timeout_source', 'recovered'],
  reads: ['status', 'claimed_status'],
  *check({ ending, timeout_source, recovered, status, claimed_status }) {
    yield* doubtRecovered(recovered);
    if (recovered && status === 'succeeded') yield must('recovered', 'must not stand where status is "succeeded"');
    const isOurs = ending.how === 'killed' && CLOCKS.has(ending.by);
    if (status === 'timed_out' && timeout_source === null) {
      yield must('timeout_source', 'must say whose clock it was where the run timed out');
    } else if (status !== 'timed_out' && timeout_source !== null) {
      yield must('timeout_source', 'must be null where the run did not time out');
    } else if (timeout_source === 'proctor' && !isOurs) {
      yield must('ending', 'must be killed by timeout, idle or cpu where Proctor ended the run for its time');
    } else if (timeout_source !== 'proctor' && isOurs) {
      yield must('timeout_source', 'must be "proctor" where the program was killed by timeout, idle or cpu');
    } else if (timeout_source === 'script' && claimed_status !== 'timed_out') {
      yield must('timeout_source', 'must not be "script" where the script did not say that it timed out');
    }
  },
  breach: outcome => ({ ...outcome, timeout_source: 'proctor' }),
});

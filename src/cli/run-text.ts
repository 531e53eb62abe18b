import type { Ending } from '../contracts/ending.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import { durationText, sizeText } from './units.ts';

/** An ending in a few words. */
export function endingText(ending: Ending): string {
  if (ending.how === 'exited') return `exit ${ending.code}`;
  if (ending.how === 'signalled') return ending.signal;
  if (ending.how === 'killed') return STOPPED_BY[ending.by];
  if (ending.how === 'out_of_memory') return 'out of memory';
  return ending.how === 'lost' ? 'interrupted' : 'could not start';
}

const STOPPED_BY = {
  timeout: 'stopped: out of time',
  idle: 'stopped: silent for too long',
  cpu: 'stopped: out of processor time',
  cancel: 'cancelled',
  policy: 'stopped: policy',
} as const;

/** How a run was bounded, in a line. */
export function boundsText(
  { sandbox, limits }: Pick<Runner, 'sandbox' | 'limits'>,
  observed: readonly { readonly held: boolean }[],
): string {
  if (sandbox.backend === 'none')
    return `none: nothing is isolated, only stopped after ${durationText(limits.timeout_ms)}`;
  const memory = limits.max_memory_bytes === undefined ? [] : [`memory ${sizeText(limits.max_memory_bytes)}`];
  const parts = [
    sandbox.network_blocked ? 'network blocked' : 'network open',
    ...(sandbox.filesystem_readonly ? ['files read-only'] : []),
    ...memory,
    `at most ${durationText(limits.timeout_ms)}`,
  ];
  const proof = observed.length > 0 && observed.every(({ held }) => held) ? ' (tried from inside, and held)' : '';
  return `${sandbox.backend}, ${sandbox.isolation_level}: ${parts.join(', ')}${proof}`;
}

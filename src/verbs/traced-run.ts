import { Fault } from '../base/fault.ts';
import type { Ending } from '../contracts/ending.ts';
import { OWN } from '../trace/names.ts';
import type { SpanAttributes } from '../trace/span.ts';
import type { OpenSpan, Tracer } from '../trace/tracer.ts';

interface EndOfRun {
  readonly attributes: SpanAttributes;
  /** A class, not a message. */
  readonly errorType?: string | undefined;
}

/** Runs `act` in the span of a run, which ends with it. */
export async function spanOfRun<Result>(
  tracer: Tracer,
  kind: 'script' | 'agent' | 'intent' | 'suite' | 'attempts',
  act: (span: OpenSpan) => Promise<Result>,
  endOf: (result: Result) => EndOfRun,
): Promise<Result> {
  const span = tracer.begin('proctor.run', { attributes: { [OWN.runKind]: kind } });
  try {
    const result = await act(span);
    const { attributes, errorType } = endOf(result);
    span.set(attributes);
    span.end({ errorType });
    return result;
  } catch (error) {
    span.end({ errorType: error instanceof Fault ? error.code : 'bug' });
    throw error;
  }
}

export function endingAttributes(ending: Ending): SpanAttributes {
  return { [OWN.ending]: ending.how, [OWN.exitCode]: 'code' in ending ? ending.code : null };
}

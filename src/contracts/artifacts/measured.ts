import type { CaseArtifact } from './case-shape.ts';

type Answered = Pick<CaseArtifact, 'attempts'>;

/** Whether Proctor filled in the latency of a tool, so that no tool latency of the answer is a measurement. */
export function isLatencyRepaired(artifact: Answered): boolean {
  return wasRepaired(artifact, 'R9');
}

/** Whether Proctor filled in the time of an event with its position, so that no time of the answer is a measurement. */
export function isTimeRepaired(artifact: Answered): boolean {
  return wasRepaired(artifact, 'R1');
}

function wasRepaired({ attempts = [] }: Answered, name: string): boolean {
  const repairs = attempts.at(-1)?.repairs ?? {};
  return Object.hasOwn(repairs, name) && (repairs[name] ?? 0) > 0;
}

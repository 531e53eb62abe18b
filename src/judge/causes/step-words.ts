import type { Difference } from './difference.ts';
import { quoted } from './quoted.ts';
import type { Step } from '../../contracts/artifacts/steps.ts';

/** A difference before it has a position among the steps. */
export type UnorderedDifference = Omit<Difference, 'order'>;

type Says = Readonly<Record<Step['kind'], (step: Step) => string>>;

export const KIND = {
  call: 'tool_choice',
  reply: 'tool_result',
  retrieval: 'retrieval',
  final_output: 'output',
} as const;

export const toolOf = (step: Step): string => (step.kind === 'call' ? quoted(step.tool) : 'a tool');

export const toolsIn = (steps: readonly Step[]): string[] =>
  steps.flatMap(step => (step.kind === 'call' ? step.tool : []));

export const place = (at: number): string => `events[${at}]`;

export const DID: Says = {
  call: step => `called ${toolOf(step)}`,
  reply: () => 'received a tool result',
  retrieval: () => 'retrieved documents',
  final_output: () => 'returned its final output',
};

export const OMITTED: Says = {
  call: step => `did not call ${toolOf(step)}`,
  reply: () => 'received no result from a tool',
  retrieval: () => 'skipped a retrieval',
  final_output: () => 'recorded no event with its final output',
};

export const ADDED: Says = {
  call: step => `also called ${toolOf(step)}`,
  reply: () => 'received an extra tool result',
  retrieval: () => 'made an extra retrieval',
  final_output: () => 'returned an extra final output',
};

import type { Difference } from './difference.ts';
import { quoted } from './quoted.ts';
import type { Step } from './steps.ts';

/** What is told of a step before it has its place among the others. */
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
  reply: () => 'had the answer of a tool',
  retrieval: () => 'retrieved documents',
  final_output: () => 'gave its final output',
};

export const OMITTED: Says = {
  call: step => `did not call ${toolOf(step)}`,
  reply: () => 'had no answer of a tool',
  retrieval: () => 'left out a retrieval',
  final_output: () => 'left out an event with its final output',
};

export const ADDED: Says = {
  call: step => `called ${toolOf(step)} in addition`,
  reply: () => 'had an answer of a tool in addition',
  retrieval: () => 'retrieved documents in addition',
  final_output: () => 'gave a final output in addition',
};

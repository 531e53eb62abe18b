import type { RecoveredNote } from './shape.ts';

/** What is unknown about a recovered run, as a list for a sentence. */
export function unknownPartsText(unknown: RecoveredNote['unknown']): string {
  return unknown.map(what => UNKNOWN[what]).join(', ');
}

const UNKNOWN = {
  ending: 'how it ended',
  usage: 'its resource usage',
  streams: 'whether it printed more',
  output: 'which files it wrote',
  checks: 'which checks pass',
  requests: 'how many model requests it made',
  workspace: 'what it changed',
} as const;

import * as z from 'zod/mini';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { record, relativePath } from '../shape.ts';
import { AG, versionOf } from './invariants.ts';
import { REASONS } from './reading.ts';
import { reasonFindings, REASON_ASKS } from './reason.ts';
import { STEP_ASKS, TERMINATIONS } from './words.ts';

const shape = record({
  schema_version: z.literal('agent-result.v1'),
  termination: z.enum(TERMINATIONS),
  transcript_path: z.nullable(relativePath()),
  final_response_path: z.nullable(relativePath()),
  reason: z.optional(z.enum(REASONS)),
});

export type AgentResult = z.infer<typeof shape>;

const rule = rulesFor<AgentResult>();

const version = versionOf('agent-result.v1');

const termination = rule({
  ...AG.AG4,
  asks: ['termination is completed, error, killed_timeout, killed_idle or killed_policy', ...REASON_ASKS],
  fields: ['termination', 'reason'],
  check: reasonFindings,
  breach: result => ({ ...result, termination: 'succeeded' }),
});

const paths = rule({
  ...AG.AG5,
  asks: ['transcript_path and final_response_path are relative paths or null', ...STEP_ASKS.relativePath],
  fields: ['transcript_path', 'final_response_path'],
  breach: result => ({ ...result, transcript_path: '../transcript.ndjson' }),
});

const artifacts = rule({
  ...AG.AG7,
  asks: [
    'transcript_path and final_response_path are not null if termination is completed',
    'final_response_path differs from transcript_path, unless both are null',
    NO_UNKNOWN_KEYS,
  ],
  fields: [],
  reads: ['termination', 'transcript_path', 'final_response_path'],
  *check({ termination, transcript_path, final_response_path }) {
    if (transcript_path !== null && transcript_path === final_response_path) {
      yield must('final_response_path', 'must differ from transcript_path');
    }
    if (termination !== 'completed') return;
    if (transcript_path === null) yield must('transcript_path', 'must not be null if the agent completed');
    if (final_response_path === null) yield must('final_response_path', 'must not be null if the agent completed');
  },
  breach: result => ({ ...result, transcript_path: null }),
});

const example: AgentResult = {
  schema_version: 'agent-result.v1',
  termination: 'completed',
  transcript_path: 'evidence/steps/implement/transcript.ndjson',
  final_response_path: 'evidence/steps/implement/final_response.txt',
  reason: 'ok',
};

export const agentResult: Contract = {
  name: 'agent-result',
  title: 'Agent result',
  tells: 'How the agent ended, and where its transcript and final response are.',
  source: 'Runner Contract (agent steps), section 4',
  version: { field: 'schema_version', value: 'agent-result.v1' },
  shape,
  rules: [version, termination, paths, artifacts],
  unknownKeys: AG.AG7.id,
  *claims({ transcript_path, final_response_path }: AgentResult): Generator<Claim> {
    if (transcript_path !== null) yield { at: 'transcript_path', file: transcript_path };
    if (final_response_path !== null) yield { at: 'final_response_path', file: final_response_path };
  },
  beyond: [
    'whether the agent did what it was asked to do',
    'whether the named files contain the transcript and final response of this run',
  ],
  bytesMax: 16 * MIB,
  example,
};

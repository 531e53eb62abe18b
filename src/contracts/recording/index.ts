import { type Contract, MIB } from '../contract.ts';
import { recordingRules } from './rules.ts';
import { type Recording, recordingShape } from './shape.ts';

export type {
  Api,
  CredentialKind,
  Exchange,
  RecordedBody,
  RecordedRequest,
  RecordedResponse,
  Recording,
} from './shape.ts';

/** Replay loads the whole recording into memory. */
export const RECORDING_BYTES_MAX = 64 * MIB;

const example: Recording = {
  schema_version: 'recording.v1',
  agent_family: 'claude_cli',
  agent_version: '2.1.325',
  api: 'anthropic',
  credential: 'key',
  created_at: '2026-04-03T10:15:00.000Z',
  task_sha256: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
  session_id: '6f1c2b34-5d6e-4f70-8a91-b2c3d4e5f607',
  ended: 'whole',
  masked: 0,
  exchanges: [
    {
      seq: 1,
      request: {
        method: 'POST',
        path: '/v1/messages?beta=true',
        body: {
          form: 'json',
          value: { model: 'example-model-1', stream: true, messages: [{ role: 'user', content: 'Say hello.' }] },
        },
      },
      response: {
        status: 200,
        content_type: 'text/event-stream',
        body: { form: 'text', value: 'event: message_stop\ndata: {"type":"message_stop"}\n\n' },
        complete: true,
      },
    },
  ],
};

export const recording: Contract = {
  name: 'recording',
  title: 'Recording',
  tells: "An agent's requests to its model and the responses, so that the run can be replayed without the model.",
  source: 'Agent recording and replay',
  version: { field: 'schema_version', value: 'recording.v1' },
  fileNames: ['recording.json'],
  shape: recordingShape,
  rules: recordingRules,
  unknownKeys: 'RC1',
  programText: ['exchanges'],
  beyond: [
    'whether a model ever gave these answers',
    'whether it contains a secret that was split across the events of a stream',
  ],
  bytesMax: RECORDING_BYTES_MAX,
  example,
};

import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { type ApiKind, messageOf } from './kind.ts';

/**
 * Agent2Agent over JSON-RPC. The two versions of the protocol differ in method names, roles and parts. Version 1.0 waits for
 * the end of the task by itself; version 0.3 waits only on request.
 */
export const a2aKind: ApiKind<'a2a'> = {
  request: ({ protocol = '1.0' }) => ({
    path: '',
    headers: { 'a2a-version': protocol },
    body: {
      jsonrpc: '2.0',
      id: '${attempt.key}',
      method: protocol === '1.0' ? 'SendMessage' : 'message/send',
      params: {
        message: {
          messageId: '${session.id}',
          role: protocol === '1.0' ? 'ROLE_USER' : 'user',
          parts: [protocol === '1.0' ? { text: '${input.user}' } : { kind: 'text', text: '${input.user}' }],
          ...(protocol === '0.3' && { kind: 'message' }),
        },
        ...(protocol === '0.3' && { configuration: { blocking: true } }),
      },
    },
  }),
  reply: ({ protocol = '1.0' }) => ({ as: 'json', mapping: protocol === '1.0' ? VERSION_1 : VERSION_0_3 }),
};

/** The states with an answer, in both versions. A task in any other state has none. */
const ANSWERED = { TASK_STATE_COMPLETED: '', TASK_STATE_INPUT_REQUIRED: '', completed: '', 'input-required': '' };
const NO_STATE = 'The task has no state.';

const VERSION_1: ReplyMapping = {
  final_output: {
    first_of: [
      { path: '$.result.task.artifacts[*].parts[*].text', join: '\n' },
      { path: '$.result.message.parts[*].text', join: '\n' },
      { path: '$.result.task.status.message.parts[*].text', join: '\n' },
      '$.result.task.artifacts[*].parts[*].data',
    ],
  },
  session: { first_of: ['$.result.task.contextId', '$.result.message.contextId'] },
  failed: {
    first_of: [
      ...messageOf('$.error'),
      { path: "$.result.task[?@.state=='TASK_STATE_FAILED'].message.parts[*].text", join: '\n' },
      { path: '$.result.task.status.state', map: ANSWERED },
      { path: '$.result[?@.id && !@.status.state].id', map: {}, else: NO_STATE },
    ],
  },
};

const VERSION_0_3: ReplyMapping = {
  final_output: {
    first_of: [
      { path: "$.result.artifacts[*].parts[?@.kind=='text'].text", join: '\n' },
      { path: "$.result.parts[?@.kind=='text'].text", join: '\n' },
      { path: "$.result.status.message.parts[?@.kind=='text'].text", join: '\n' },
      '$.result.artifacts[*].parts[*].data',
    ],
  },
  session: '$.result.contextId',
  failed: {
    first_of: [
      ...messageOf('$.error'),
      { path: "$.result[?@.state=='failed'].message.parts[?@.kind=='text'].text", join: '\n' },
      { path: '$.result.status.state', map: ANSWERED },
      { path: "$[?@.kind=='task' && !@.status.state].kind", map: {}, else: NO_STATE },
    ],
  },
};

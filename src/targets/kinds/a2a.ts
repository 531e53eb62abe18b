import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { type ApiKind, messageOf } from './kind.ts';

/**
 * Agent2Agent over JSON-RPC. The two versions of the protocol differ in method names, roles and parts. Version 1.0 waits for
 * the end of the task by itself; version 0.3 has to be asked.
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
      "$.result.task[?@.state=='TASK_STATE_FAILED' || @.state=='TASK_STATE_REJECTED' || @.state=='TASK_STATE_CANCELED' || @.state=='TASK_STATE_AUTH_REQUIRED' || @.state=='TASK_STATE_SUBMITTED' || @.state=='TASK_STATE_WORKING' || @.state=='TASK_STATE_UNSPECIFIED'].state",
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
      "$.result[?@.state=='failed' || @.state=='rejected' || @.state=='canceled' || @.state=='auth-required' || @.state=='submitted' || @.state=='working' || @.state=='unknown'].state",
    ],
  },
};

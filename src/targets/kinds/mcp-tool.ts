import type { DeclarationOf } from '../../contracts/target/index.ts';
import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { messageOf, type ReplyForm } from './kind.ts';

/** One call of an MCP tool. The reply is the JSON-RPC response. */
export function mcpToolReply({ reply }: DeclarationOf<'mcp-tool'>): ReplyForm {
  return { as: 'json', mapping: reply ? { failed: FAILED, ...reply } : MAPPING };
}

const IS_ERROR = '$[?@.isError && @.isError!=false && @.isError!=null]';

/** An error of the protocol, an error of the tool, or a question from the tool, which Proctor cannot answer. */
const FAILED: ReplyMapping['failed'] = {
  first_of: [
    ...messageOf('$.error'),
    { path: `${IS_ERROR}.content[?@.type=='text'].text`, join: '\n' },
    { path: `${IS_ERROR}.isError`, map: {}, else: 'The tool reported an error without a message.' },
    { path: '$.result.resultType', map: { complete: '', input_required: 'The tool asks for more input.' } },
  ],
};

const MAPPING: ReplyMapping = {
  final_output: {
    first_of: ['$.result.structuredContent', { path: "$.result.content[?@.type=='text'].text", join: '\n' }],
  },
  failed: FAILED,
};

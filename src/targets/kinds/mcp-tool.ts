import type { DeclarationOf } from '../../contracts/target/index.ts';
import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import { messageOf, type ReplyForm } from './kind.ts';

/** One call of an MCP tool. The reply is the JSON-RPC response. */
export function mcpToolReply({ reply }: DeclarationOf<'mcp-tool'>): ReplyForm {
  return { as: 'json', mapping: reply ? { failed: FAILED, ...reply } : MAPPING };
}

/** An error of the protocol, an error of the tool, or a question back, to which Proctor has no answer. */
const FAILED: ReplyMapping['failed'] = {
  first_of: [
    ...messageOf('$.error'),
    { path: "$[?@.isError==true].content[?@.type=='text'].text", join: '\n' },
    { path: '$[?@.isError==true].isError', map: { true: 'The tool reported an error without a text.' } },
    { path: "$[?@.resultType=='input_required'].resultType", map: { input_required: 'The tool asks for more input.' } },
  ],
};

const MAPPING: ReplyMapping = {
  final_output: {
    first_of: ['$.result.structuredContent', { path: "$.result.content[?@.type=='text'].text", join: '\n' }],
  },
  failed: FAILED,
};

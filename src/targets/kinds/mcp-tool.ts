import type { DeclarationOf } from '../../contracts/target/index.ts';
import type { ReplyMapping } from '../../contracts/target/mapping.ts';
import type { ReplyForm } from './kind.ts';

/** One call of an MCP tool. The reply is the JSON-RPC response. */
export function mcpToolReply({ reply }: DeclarationOf<'mcp-tool'>): ReplyForm {
  return { as: 'json', mapping: reply ?? MAPPING };
}

const MAPPING: ReplyMapping = {
  final_output: {
    first_of: ['$.result.structuredContent', { path: "$.result.content[?@.type=='text'].text", join: '\n' }],
  },
  failed: { first_of: ['$.error.message', { path: "$[?@.isError==true].content[?@.type=='text'].text", join: '\n' }] },
};

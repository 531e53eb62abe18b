import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { OwnTransport } from './kind.ts';
import { asDocument, bearerOf, type Protocol, requires, sendJson, textAt } from './protocol-server.ts';

const CAN = { tools: 'nothing', usage: false, model: false, failure: true, stream: false } as const;
const CALL = { kind: 'mcp-tool', tool: 'ask', arguments: { question: '${input.user}' } };

/** A server of revision 2026-07-28, which the published library does not speak. */
export const mcpHttp: Protocol = {
  name: 'mcp-tool',
  can: CAN,
  declaration: url => ({ ...CALL, url: `${url}/mcp`, auth: { bearer: '${env:AGENT_TOKEN}' } }),
  framed: asDocument,
  speak: () => ({
    hear(asked, response) {
      requires(bearerOf(asked), 'bearer token');
      const { body, headers } = asked;
      requires(asked.method === 'POST' && asked.path === '/mcp', 'path');
      requires(headers['mcp-protocol-version'] === '2026-07-28', 'protocol version');
      requires(headers['mcp-method'] === body['method'], 'method header');
      if (body['method'] !== 'server/discover') {
        requires(body['method'] === 'tools/call' && headers['mcp-name'] === 'ask', 'name header');
        return textAt(body, 'params', 'arguments', 'question');
      }
      const result = { resultType: 'complete', supportedVersions: ['2026-07-28'] };
      sendJson(response, { jsonrpc: '2.0', id: body['id'], result });
      return undefined;
    },
    answer: ({ text, failure }, { body }, response) =>
      sendJson(response, {
        jsonrpc: '2.0',
        id: body['id'],
        result: {
          resultType: 'complete',
          content: [{ type: 'text', text: failure ?? text }],
          ...(failure !== undefined && { isError: true }),
        },
      }),
  }),
};

/** A server of the published library, which turns an exception into a failed result and goes on. */
export const mcpStdio: OwnTransport = {
  name: 'mcp-tool (stdio)',
  can: CAN,
  crashClass: 'schema_mismatch',
  declaration: () => ({
    ...CALL,
    run: [process.execPath, 'server.mjs'],
    env: { DESK_TOKEN: '${env:AGENT_TOKEN}' },
  }),
  stage: scenes => ({
    refused: [],
    async start(folder) {
      writeFileSync(path.join(folder, 'server.mjs'), SERVER);
      writeFileSync(path.join(folder, 'scenes.json'), JSON.stringify(scenes));
      return folder;
    },
  }),
};

/** The folder of the target file has no packages. */
const packaged = (name: string): string => JSON.stringify(import.meta.resolve(name));

const SERVER = `
import { readFileSync } from 'node:fs';
import { McpServer } from ${packaged('@modelcontextprotocol/sdk/server/mcp.js')};
import { StdioServerTransport } from ${packaged('@modelcontextprotocol/sdk/server/stdio.js')};
import * as z from ${packaged('zod')};

if (!process.env.DESK_TOKEN) throw new Error('no token');
const scenes = JSON.parse(readFileSync('scenes.json', 'utf8'));
const server = new McpServer({ name: 'desk', version: '1.0.0' });
server.registerTool('ask', { inputSchema: { question: z.string() } }, ({ question }) => {
  console.error('asked with', process.env.DESK_TOKEN);
  const { text, failure, crash } = scenes[question.split(' ', 1)[0]];
  if (crash !== undefined) throw new Error(crash);
  return { content: [{ type: 'text', text: failure ?? text }], isError: failure !== undefined };
});
await server.connect(new StdioServerTransport());
`;

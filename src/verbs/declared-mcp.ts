import type { DeclarationOf } from '../contracts/target/index.ts';
import { McpHttpChannel } from '../run/suite/mcp-http.ts';
import { McpStdioChannel } from '../run/suite/mcp-stdio.ts';
import { type McpApi, mcpTarget } from '../run/suite/mcp-target.ts';
import type { Target } from '../run/suite/target.ts';
import { compileToolCall, type ToolCall } from '../targets/tool-call.ts';
import type { RunSuiteOptions } from './run-suite.ts';

interface McpContext extends Pick<RunSuiteOptions, 'environment' | 'signal'> {
  /** The folder in which a program runs. */
  readonly dir: string;
}

type Api = Omit<McpApi, 'call' | 'channel'>;

/** The target of a declaration that calls a tool. Starts the server if the declaration says how. */
export async function mcpFor(declaration: DeclarationOf<'mcp-tool'>, api: Api, context: McpContext): Promise<Target> {
  const call = compileToolCall(declaration);
  return mcpTarget({ ...api, call, channel: await channelOf(call, api, context) });
}

async function channelOf({ server }: ToolCall, api: Api, context: McpContext): Promise<McpApi['channel']> {
  const { settings, onExchange, variable, port, secrets, keepCredentials = false } = api;
  const common = { settings, ...(onExchange && { onExchange }) };
  const values = { env: variable, ...(port !== undefined && { port }) };
  if (server.over === 'http') return new McpHttpChannel({ ...common, url: server.url(values) });
  const { environment = {}, signal, dir } = context;
  const channel = new McpStdioChannel({
    ...common,
    command: { run: server.run, cwd: dir, env: server.env(values) },
    context: { environment, secrets, keepCredentials, ...(signal && { signal }) },
  });
  await channel.start();
  return channel;
}

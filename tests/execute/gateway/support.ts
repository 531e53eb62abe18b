import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Endpoint, Gateway } from '../../../src/execute/gateway/gateway.ts';
import { GATEWAYS } from '../../../src/execute/gateway/index.ts';
import { judgeBody } from '../../../src/execute/gateway/judge-body.ts';
import { Refused } from '../../../src/execute/gateway/refused.ts';
import { ROOT } from '../../support/support.ts';

export type ApiName = keyof typeof GATEWAYS;

export const APIS = Object.keys(GATEWAYS) as readonly ApiName[];

/** For each API: a path, a body that passes, and a tool that the agent runs. */
export const PLAIN: Readonly<Record<ApiName, { path: string; body: Record<string, unknown>; tool: object }>> = {
  anthropic: {
    path: '/v1/messages',
    body: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello?' }] },
    tool: { name: 'Read', input_schema: { type: 'object' } },
  },
  openai: {
    path: '/v1/responses',
    body: { model: 'm', store: false, input: [{ type: 'message', role: 'user', content: 'Hello?' }] },
    tool: { type: 'function', name: 'read', parameters: { type: 'object' } },
  },
  'openai-chat': {
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: 'Hello?' }] },
    tool: { type: 'function', function: { name: 'read', parameters: { type: 'object' } } },
  },
  gemini: {
    path: '/v1beta/models/gemini-3:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello?' }] }] },
    tool: { functionDeclarations: [{ name: 'read' }] },
  },
};

/** The result of checking a body: the forwarded body and the removed parts, or the refusal and its location. */
export function judged(api: ApiName, body: unknown): { out: unknown; stripped: readonly string[] } | string {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  try {
    const { bytes: out, stripped } = judgeBody(bytes, GATEWAYS[api].body, askOf(GATEWAYS[api]), BYTES_MAX);
    return {
      out: JSON.parse(out.toString()) as unknown,
      stripped: [...stripped].flatMap(([path, times]) => Array.from({ length: times }, () => path)),
    };
  } catch (error) {
    if (error instanceof Refused) return `${error.what} ${error.where}`;
    throw error;
  }
}

const BYTES_MAX = 64 * 1024 ** 2;

export function askOf({ endpoints }: Gateway): Endpoint {
  return endpoints.find(({ use }) => use === 'ask') as Endpoint;
}

/** A request of a real agent, without details of its machine. */
export interface RealRequest {
  readonly policy: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Record<string, unknown>;
}

export function realRequests(name: 'claude-2.1.325' | 'codex-0.166.0'): readonly RealRequest[] {
  const file = path.join(ROOT, 'tests', 'fixtures', 'model-requests', `${name}.json`);
  return JSON.parse(readFileSync(file, 'utf8')) as RealRequest[];
}

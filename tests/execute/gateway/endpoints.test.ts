import { describe, expect, test } from 'vitest';
import { endpointOf } from '../../../src/execute/gateway/gateway.ts';
import { GATEWAYS } from '../../../src/execute/gateway/index.ts';
import { type ApiName, APIS, realRequests } from './support.ts';

const use = (api: ApiName, line: string): string | undefined => {
  const [method = '', url = ''] = line.split(' ');
  return endpointOf(GATEWAYS[api], method, url)?.use;
};

describe('the allowed endpoints', () => {
  test.each<[ApiName, string, string]>([
    ['anthropic', 'POST /v1/messages', 'ask'],
    ['anthropic', 'POST /v1/messages?beta=true', 'ask'],
    ['anthropic', 'POST /v1/messages/count_tokens', 'count'],
    ['anthropic', 'POST /v1/messages/count_tokens?beta=true', 'count'],
    ['anthropic', 'GET /v1/models', 'list'],
    ['anthropic', 'GET /v1/models/claude-opus-5-5', 'list'],
    ['openai', 'POST /v1/responses', 'ask'],
    ['openai', 'POST /responses', 'ask'],
    ['openai', 'POST /responses/compact', 'ask'],
    ['openai', 'POST /v1/responses/input_tokens', 'count'],
    ['openai', 'GET /v1/models', 'list'],
    ['openai', 'GET /models?client_version=0.166.0', 'list'],
    ['openai-chat', 'POST /v1/chat/completions', 'ask'],
    ['openai-chat', 'POST /chat/completions', 'ask'],
    ['openai-chat', 'GET /v1/models', 'list'],
    ['gemini', 'POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse', 'ask'],
    ['gemini', 'POST /v1beta/models/gemini-3-pro:generateContent', 'ask'],
    ['gemini', 'POST /v1beta/models/gemini-3-pro:countTokens', 'count'],
    ['gemini', 'GET /v1beta/models', 'list'],
    ['gemini', 'GET /v1beta/models/gemini-3-pro', 'list'],
  ])('of %s include %s', (api, line, expected) => {
    expect(use(api, line)).toBe(expected);
  });

  const NEVER = [
    '/v1/files',
    '/v1/uploads',
    '/v1/batches',
    '/v1/messages/batches',
    '/v1/vector_stores',
    '/v1/containers',
    '/v1/conversations',
    '/v1/assistants',
    '/v1/threads',
    '/v1/realtime',
    '/v1/skills',
    '/v1/agents',
    '/v1/sessions',
    '/v1/environments',
    '/v1/memory_stores',
    '/v1/vaults',
    '/v1/organizations/me',
    '/v1/embeddings',
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/cancel',
    '/v1/messages/../files',
    '/v1/messages/',
    '/v1/Messages',
    '/v1/%6dessages',
    '/v1beta/files',
    '/v1beta/cachedContents',
    '/v1beta/models/gemini-3:batchGenerateContent',
    '/v1beta/models/gemini-3:predict',
    '/backend-api/codex/responses',
    '/codex/analytics-events/events',
    '/ps/mcp',
    '/v1/messages?beta=false',
    '/v1/messages?beta=true&x=1',
    '/v1/responses?include=x',
    '/v1beta/models/gemini-3:generateContent?key=x',
  ];
  test.each(APIS)('of %s include no other endpoint, method or query', api => {
    for (const url of NEVER)
      for (const method of ['GET', 'POST', 'PUT']) expect(use(api, `${method} ${url}`), url).toBe(undefined);
    for (const { path } of [{ path: '/v1/messages' }, { path: '/responses' }, { path: '/v1/chat/completions' }])
      for (const method of ['GET', 'HEAD', 'DELETE', 'PATCH', 'post'])
        expect(use(api, `${method} ${path}`)).toBe(undefined);
    expect(use(api, 'POST /v1/models')).toBe(undefined);
    expect(use(api, 'HEAD /')).toBe(undefined);
  });

  test('include every request of real agents', () => {
    for (const { method, path } of realRequests('claude-2.1.325'))
      expect(use('anthropic', `${method} ${path}`)).toBe('ask');
    for (const { method, path } of realRequests('codex-0.166.0'))
      expect(use('openai', `${method} ${path}`)).toBe('ask');
  });
});

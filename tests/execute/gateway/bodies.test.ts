import { describe, expect, test } from 'vitest';
import { GATEWAYS } from '../../../src/execute/gateway/index.ts';
import { judgeBody } from '../../../src/execute/gateway/judge-body.ts';
import { type ApiName, APIS, askOf, judged, PLAIN, realRequests } from './support.ts';

const say = (content: unknown): object => ({ messages: [{ role: 'user', content: [content] }] });
const input = (content: unknown): object => ({ input: [{ type: 'message', role: 'user', content: [content] }] });
const parts = (part: unknown): object => ({ contents: [{ role: 'user', parts: [part] }] });

describe('a body with a denied network', () => {
  const PROVIDER_TOOLS: readonly [ApiName, readonly object[]][] = [
    [
      'anthropic',
      [
        'web_search_20250305',
        'web_search_20260209',
        'web_search_20260318',
        'web_fetch_20250910',
        'web_fetch_20260209',
        'web_fetch_20260309',
        'web_fetch_20260318',
        'code_execution_20250522',
        'code_execution_20250825',
        'code_execution_20260120',
        'code_execution_20260521',
        'browser_toolset_20260801',
        'advisor_20260301',
        'mcp_toolset',
        'a_tool_of_next_year_20270101',
      ].map(type => ({ type, name: 'provider' })),
    ],
    [
      'openai',
      [
        ...[
          'web_search',
          'web_search_2025_08_26',
          'web_search_preview',
          'web_search_preview_2025_03_11',
          'file_search',
          'code_interpreter',
          'image_generation',
          'mcp',
          'programmatic_tool_calling',
          'tool_search',
          'a_tool_of_next_year',
        ].map(type => ({ type })),
        { type: 'shell' },
        { type: 'shell', environment: { type: 'container_auto' } },
        { type: 'namespace', name: 'n', tools: [{ type: 'web_search' }] },
        'no tool' as unknown as object,
      ],
    ],
    ['openai-chat', ['web_search', 'mcp', 'browser'].map(type => ({ type }))],
    [
      'gemini',
      [
        'googleSearch',
        'google_search',
        'googleSearchRetrieval',
        'enterpriseWebSearch',
        'urlContext',
        'url_context',
        'googleMaps',
        'codeExecution',
        'computerUse',
        'retrieval',
        'fileSearch',
        'mcpServers',
        'exaAiSearch',
        'parallelAiSearch',
      ].map(key => ({ [key]: {} })),
    ],
  ];
  test.each(PROVIDER_TOOLS)(
    'of %s loses a tool that the provider runs, and is refused if it has no other tool',
    (api, tools) => {
      const { body, tool } = PLAIN[api];
      for (const provider of tools) {
        const both = { ...body, tools: [provider, tool] };
        expect(judged(api, both), JSON.stringify(provider)).toMatchObject({ out: { ...body, tools: [tool] } });
        expect(judged(api, both)).toMatchObject({ stripped: expect.arrayContaining(['tools[]']) as unknown });
        expect(judged(api, { ...body, tools: [provider] })).toBe('tool tools[]');
      }
    },
  );

  const OWN_TOOLS: readonly [ApiName, readonly object[]][] = [
    [
      'anthropic',
      [
        { name: 'Read', input_schema: { properties: { url: { type: 'url' } } } },
        ...['custom', 'bash_20250124', 'text_editor_20250728', 'memory_20250818', 'computer_20250124'].map(type => ({
          type,
        })),
        { type: 'tool_search_tool_regex_20251119' },
      ],
    ],
    [
      'openai',
      [
        ...['function', 'custom', 'local_shell', 'apply_patch'].map(type => ({ type })),
        { type: 'shell', environment: { type: 'local' } },
        { type: 'tool_search', execution: 'client' },
        { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] },
      ],
    ],
    ['openai-chat', [{ type: 'function', function: { name: 'f' } }, { type: 'custom' }]],
    ['gemini', [{ functionDeclarations: [{ name: 'f' }] }, { function_declarations: [] }]],
  ];
  test.each(OWN_TOOLS)('of %s keeps the tools that the agent runs itself', (api, tools) => {
    const body = { ...PLAIN[api].body, tools };
    expect(judged(api, body)).toEqual({ out: body, stripped: [] });
  });

  test.each<[ApiName, object, string]>([
    [
      'anthropic',
      say({ type: 'image', source: { type: 'url', url: 'https://x' } }),
      'reference messages[].content[].source.type',
    ],
    [
      'anthropic',
      say({ type: 'document', source: { type: 'file', file_id: 'f' } }),
      'reference messages[].content[].source.type',
    ],
    ['anthropic', say({ type: 'container_upload', file_id: 'f' }), 'reference messages[].content[].type'],
    [
      'anthropic',
      say({ type: 'tool_result', content: [{ type: 'image', source: { url: 'http://x' } }] }),
      'reference messages[].content[].content[].source.url',
    ],
    [
      'anthropic',
      say({ type: 'tool_addition', tool: { type: 'web_search_20250305' } }),
      'reference messages[].content[].tool.type',
    ],
    ['openai', input({ type: 'input_file', file_id: 'f' }), 'reference input[].content[].file_id'],
    ['openai', input({ type: 'input_file', file_url: 'https://x' }), 'reference input[].content[].file_url'],
    ['openai', input({ type: 'input_image', image_url: 'https://x' }), 'reference input[].content[].image_url'],
    ['openai', { input: [{ type: 'item_reference', id: 'i' }] }, 'reference input[].type'],
    [
      'openai',
      { input: [{ type: 'function_call_output', output: [{ type: 'input_image', file_id: 'f' }] }] },
      'reference input[].output[].file_id',
    ],
    ['openai-chat', say({ type: 'file', file: { file_id: 'f' } }), 'reference messages[].content[].file.file_id'],
    [
      'openai-chat',
      say({ type: 'image_url', image_url: { url: 'https://x' } }),
      'reference messages[].content[].image_url.url',
    ],
    ['gemini', parts({ fileData: { fileUri: 'gs://x' } }), 'reference contents[].parts[].fileData.fileUri'],
    ['gemini', parts({ file_data: { file_uri: 'gs://x' } }), 'reference contents[].parts[].file_data.file_uri'],
  ])('of %s with an external reference is refused: %j', (api, body, refusal) => {
    expect(judged(api, { ...PLAIN[api].body, ...body })).toBe(refusal);
  });

  test.each<[ApiName, object]>([
    ['anthropic', say({ type: 'image', source: { type: 'base64', data: 'x' } })],
    [
      'anthropic',
      {
        messages: [
          {
            role: 'assistant',
            content: [{ type: 'tool_use', name: 'Fetch', input: { type: 'url', url: 'https://x' } }],
          },
        ],
      },
    ],
    ['openai', input({ type: 'input_image', image_url: 'data:image/png;base64,x' })],
    ['openai', { input: [{ type: 'local_shell_call', action: { type: 'exec', url: 'https://x' } }] }],
    ['openai-chat', say({ type: 'image_url', image_url: { url: 'data:image/png;base64,x' } })],
    ['gemini', parts({ functionCall: { name: 'f', args: { url: 'https://x' } } })],
  ])('of %s with inline data passes: %j', (api, body) => {
    expect(judged(api, { ...PLAIN[api].body, ...body })).toMatchObject({ stripped: [] });
  });

  const REACH: readonly [ApiName, readonly string[]][] = [
    [
      'anthropic',
      [
        'mcp_servers',
        'container',
        'thread',
        'fallbacks',
        'fallback_credit_token',
        'workspace_id',
        'user_profile_id',
        'service_tier',
        'speed',
        'inference_geo',
      ],
    ],
    ['openai', ['previous_response_id', 'conversation', 'background', 'prompt', 'service_tier']],
    ['openai-chat', ['web_search_options', 'audio', 'modalities', 'service_tier']],
    ['gemini', ['cachedContent', 'cached_content']],
  ];
  test.each(REACH)('of %s that reaches beyond its request is refused', (api, keys) => {
    for (const key of keys) {
      for (const value of ['x', {}, [], true, 0])
        expect(judged(api, { ...PLAIN[api].body, [key]: value })).toBe(`reach ${key}`);
      for (const value of [null, false])
        expect(judged(api, { ...PLAIN[api].body, [key]: value })).toMatchObject({ stripped: [] });
    }
  });

  test.each(APIS)('of %s with an unknown key is refused, and only a plausible key is shown', api => {
    expect(judged(api, { ...PLAIN[api].body, a_new_feature: true })).toBe('key a_new_feature');
    expect(judged(api, { ...PLAIN[api].body, 'sk-ant a secret\n': true })).toBe('key ?');
    const bytes = Buffer.from(JSON.stringify(PLAIN[api].body).replace('{', '{"__proto__":{"tools":[]},'));
    expect(judged(api, bytes)).toBe('key __proto__');
  });

  test.each<[ApiName, object, object]>([
    ['anthropic', { type: 'web_search_20250305', name: 'web_search' }, { type: 'tool', name: 'web_search' }],
    ['openai', { type: 'web_search' }, { type: 'web_search' }],
    ['openai', { type: 'mcp', server_label: 's' }, { type: 'mcp', server_label: 's' }],
    ['openai', { type: 'web_search' }, { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] }],
    [
      'openai-chat',
      { type: 'web_search', name: 'w' },
      { type: 'allowed_tools', allowed_tools: { tools: [{ type: 'custom', name: 'w' }] } },
    ],
  ])('of %s that selects the dropped tool %j by %j is refused', (api, provider, tool_choice) => {
    const { body, tool } = PLAIN[api];
    expect(judged(api, { ...body, tools: [tool, provider], tool_choice })).toBe('tool tool_choice');
  });

  test("keeps a selection among the agent's tools", () => {
    const { body, tool } = PLAIN.anthropic;
    const tool_choice = { type: 'tool', name: 'Read' };
    expect(judged('anthropic', { ...body, tools: [tool, { type: 'mcp_toolset' }], tool_choice })).toMatchObject({
      out: { tools: [tool], tool_choice },
    });
  });

  test('is never stored by the provider, and a stream reports its usage', () => {
    const { openai, 'openai-chat': chat } = PLAIN;
    for (const store of [undefined, true, null])
      expect(judged('openai', { ...openai.body, store })).toMatchObject({ out: { store: false }, stripped: ['store'] });
    expect(judged('openai-chat', { ...chat.body, store: true })).toMatchObject({ out: { store: false } });
    expect(judged('openai-chat', { ...chat.body, stream: true, stream_options: { x: 1 } })).toEqual({
      out: { ...chat.body, stream: true, stream_options: { x: 1, include_usage: true } },
      stripped: ['stream_options.include_usage'],
    });
  });

  test('is refused for a model that searches the network', () => {
    for (const model of ['gpt-4o-search-preview', 'gpt-5-search'])
      expect(judged('openai-chat', { ...PLAIN['openai-chat'].body, model })).toBe('model model');
    expect(judged('openai-chat', { ...PLAIN['openai-chat'].body, model: 'research-1' })).toMatchObject({
      stripped: [],
    });
  });

  test('loses the search that Codex hides in a list of additional tools', () => {
    const [{ body } = { body: {} }] = realRequests('codex-0.166.0');
    const text = JSON.stringify(body).replace(
      '"tools":[',
      '"tools":[{"type":"web_search","external_web_access":true},',
    );
    expect(judged('openai', Buffer.from(text))).toEqual({ out: body, stripped: ['input[].tools[]'] });
  });
});

describe('the bodies of real agents', () => {
  test.each([
    ['claude-2.1.325', 'anthropic'],
    ['codex-0.166.0', 'openai'],
  ] as const)('pass byte for byte: %s', (name, api) => {
    const requests = realRequests(name);
    expect(requests.length).toBeGreaterThan(1);
    for (const { body } of requests) {
      const bytes = Buffer.from(JSON.stringify(body));
      const out = judgeBody(bytes, GATEWAYS[api].body, askOf(GATEWAYS[api]), 1024 ** 2);
      expect(out).toMatchObject({ stripped: new Map(), model: body['model'] });
      expect(out.bytes).toBe(bytes);
    }
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPLY_REPAIRS } from '../../src/targets/repairs.ts';
import { expectValid, ranSuite } from '../run/suite/support.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';
import { TOKEN } from './conformance/world.ts';
import { a2a } from './servers/a2a.ts';
import { agUi } from './servers/ag-ui.ts';
import { anthropicMessages } from './servers/anthropic.ts';
import { httpJson, httpPoll, httpSession, httpSse } from './servers/http-apis.ts';
import { langgraph } from './servers/langgraph.ts';
import { openaiChatStream, openaiResponses } from './servers/openai.ts';
import { proctorAgent } from './servers/proctor-agent.ts';
import { type Protocol, ProtocolServer } from './servers/protocol-server.ts';

const page = readFileSync(path.join(ROOT, 'docs', 'targets.md'), 'utf8');

/** The examples on the page, by the file name in their first line. */
const EXAMPLES = new Map(
  [...page.matchAll(/^```yaml\n(# (\S+\.yaml)[\s\S]*?)^```$/gm)].map(([, text = '', name = '']) => [
    name.replace(/:$/, ''),
    text,
  ]),
);

/** The server that each example is for. */
const SERVERS: readonly (readonly [file: string, protocol: Protocol])[] = [
  ['desk.yaml', httpJson],
  ['stream.yaml', httpSse],
  ['jobs.yaml', httpPoll],
  ['conversation.yaml', httpSession],
  ['own-protocol.yaml', proctorAgent],
  ['chat.yaml', openaiChatStream],
  ['responses.yaml', openaiResponses],
  ['messages.yaml', anthropicMessages],
  ['graph.yaml', langgraph],
  ['partner.yaml', a2a],
  ['ui.yaml', agUi],
];

test.each(SERVERS)('%s in docs/targets.md is a complete target', async (file, protocol) => {
  const server = new ProtocolServer(protocol, { open: { text: 'From 9 to 5.' } });
  const url = await server.start();
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, file), (EXAMPLES.get(file) ?? '').replace('http://127.0.0.1:8000', url));
  const cases = [{ id: 'hours', input: { user: 'open when?', context: { locale: 'en' } } }];
  const environment = { AGENT_TOKEN: TOKEN };
  const { artifact, folder } = await ranSuite(cases, { target: file, environment, cwd });
  expect(server.refused).toEqual([]);
  expect(artifact('hours').runner_failure).toBeUndefined();
  expect(artifact('hours').final_output?.content).toBe('From 9 to 5.');
  await expectValid(folder);
});

test('docs/targets.md has an example for every kind that is reached by HTTP requests', () => {
  const files = [...EXAMPLES.keys()].filter(file => !file.startsWith('examples/'));
  expect(files).toEqual(SERVERS.map(([file]) => file));
  const kinds = new Set([...EXAMPLES.values()].map(text => (parse(text) as { kind: string }).kind));
  const listed = [...page.matchAll(/^\| (`[a-z`, -]+`) \|[^|]*\|[^|]*\|$/gm)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name),
  );
  expect(listed.filter(kind => !kinds.has(kind as string))).toEqual(['websocket', 'mcp-tool', 'command', 'function']);
});

test('docs/targets.md shows examples/suite/target.yaml, and lists every repair', () => {
  const declared = readFileSync(path.join(ROOT, 'examples', 'suite', 'target.yaml'), 'utf8');
  expect(parse(EXAMPLES.get('examples/suite/target.yaml') ?? '')).toEqual(parse(declared));
  const repairs = [...page.matchAll(/^\| (R\d+) \|/gm)].map(([, id]) => id);
  expect(repairs).toEqual(Object.keys(REPLY_REPAIRS));
});

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPLY_REPAIRS } from '../../src/targets/repairs.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { expectValid, ranSuite } from '../run/suite/support.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';
import { stageFor, TOKEN } from './conformance/world.ts';
import { a2a } from './servers/a2a.ts';
import { agUi } from './servers/ag-ui.ts';
import { anthropicMessages } from './servers/anthropic.ts';
import { httpJson, httpPoll, httpSession, httpSse } from './servers/http-apis.ts';
import type { OwnTransport } from './servers/kind.ts';
import { langgraph } from './servers/langgraph.ts';
import { mcpHttp, mcpStdio } from './servers/mcp.ts';
import { openaiChatStream, openaiResponses } from './servers/openai.ts';
import { proctorAgent } from './servers/proctor-agent.ts';
import { command, functionAgent } from './servers/programs.ts';
import type { Protocol } from './servers/protocol-server.ts';
import { websocket } from './servers/websocket.ts';

afterAll(closeLauncher);

const page = readFileSync(path.join(ROOT, 'docs', 'targets.md'), 'utf8');

/** The examples on the page, by the file name in their first line. */
const EXAMPLES = new Map(
  [...page.matchAll(/^```yaml\n(# (\S+\.yaml)[\s\S]*?)^```$/gm)].map(([, text = '', name = '']) => [
    name.replace(/:$/, ''),
    text,
  ]),
);

/** The module on the page. */
const [, MODULE = ''] = /^```js\n(\/\/ agent\.mjs\n[\s\S]*?)^```$/m.exec(page) ?? [];

const functionOnPage: OwnTransport = {
  ...functionAgent,
  stage: () => ({
    refused: [],
    async start(folder) {
      writeFileSync(path.join(folder, 'agent.mjs'), MODULE);
      return folder;
    },
  }),
};

/** The agent that each example is for. */
const AGENTS: readonly (readonly [file: string, kind: Protocol | OwnTransport])[] = [
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
  ['socket.yaml', websocket],
  ['tool.yaml', mcpHttp],
  ['local-tool.yaml', mcpStdio],
  ['program.yaml', command],
  ['program-with-file.yaml', command],
  ['function.yaml', functionOnPage],
];

test.each(AGENTS)('%s in docs/targets.md is a complete target', async (file, kind) => {
  const stage = stageFor(kind, { open: { text: 'From 9 to 5.' } });
  const cwd = temporaryFolder();
  const place = await stage.start(cwd);
  const text = (EXAMPLES.get(file) ?? '').replace(/(?:http|ws):\/\/127\.0\.0\.1:8000/, place);
  writeFileSync(path.join(cwd, file), text);
  const cases = [{ id: 'hours', input: { user: 'open when?', context: { locale: 'en' } } }];
  const environment = { AGENT_TOKEN: TOKEN, PATH: process.env['PATH'] };
  const { artifact, folder } = await ranSuite(cases, { target: file, environment, cwd });
  expect(stage.refused).toEqual([]);
  expect(artifact('hours').runner_failure).toBeUndefined();
  expect(artifact('hours').final_output?.content).toBe('From 9 to 5.');
  await expectValid(folder);
});

test('docs/targets.md has an example for every kind', () => {
  const files = [...EXAMPLES.keys()].filter(file => !file.startsWith('examples/'));
  expect(files).toEqual(AGENTS.map(([file]) => file));
  const shown = new Set([...EXAMPLES.values()].map(text => (parse(text) as { kind: string }).kind));
  expect([...shown].sort()).toEqual(knownKinds().sort());
  const listed = [...page.matchAll(/^\| `([a-z0-9-]+)` \|[^|]*\|[^|]*\|$/gm)].map(([, kind]) => kind);
  expect(new Set(listed)).toEqual(shown);
});

/** The kinds in the JSON Schema of target files. */
function knownKinds(): string[] {
  const schema = readFileSync(path.join(ROOT, 'docs', 'contracts', 'target.schema.json'), 'utf8');
  const { anyOf } = JSON.parse(schema) as { anyOf: { properties: { kind: { const: string } } }[] };
  return anyOf.map(({ properties }) => properties.kind.const);
}

test('docs/targets.md shows examples/suite/target.yaml, and lists every repair', () => {
  const declared = readFileSync(path.join(ROOT, 'examples', 'suite', 'target.yaml'), 'utf8');
  expect(parse(EXAMPLES.get('examples/suite/target.yaml') ?? '')).toEqual(parse(declared));
  const repairs = [...page.matchAll(/^\| (R\d+) \|/gm)].map(([, id]) => id);
  expect(repairs).toEqual(Object.keys(REPLY_REPAIRS));
});

/** FD14: a case states only what follows from its stored reply, even if someone sealed the folder again. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { ranSuite } from '../run/suite/support.ts';
import { temporaryFolder } from '../support/support.ts';
import { brokenIn, verdictsOf } from './folders.ts';
import { forgedRun, type Json, REPLIES, RunCopy } from './forged-run.ts';

const FRAMES = [
  'event: tool\ndata: {"id":"c1","name":"orders.get","input":{"order":"A-1"}}',
  'event: done\ndata: {"id":"c1","state":"Success","output":["19.99"]}',
  'event: token\ndata: {"text":"Your refund "}',
  'event: token\ndata: {"text":"is on its way."}',
  'event: end\ndata: {"usd":0.002}',
];

const REPLY = {
  final_output: { path: "$.frames[?@.event=='token'].data.text", join: '' },
  workflow_id: '$.frames[0].data.name',
  events: [
    {
      each: "$.frames[?@.event=='tool']",
      as: 'tool_call',
      ts: '@.at_ms',
      call_id: '@.data.id',
      tool: '@.data.name',
      args: '@.data.input',
    },
    {
      each: "$.frames[?@.event=='done']",
      as: 'tool_result',
      ts: '@.at_ms',
      call_id: '@.data.id',
      status: '@.data.state',
      payload_summary: '@.data.output',
    },
  ],
  usage: { cost_usd: '$.frames[-1].data.usd' },
};

/** The folder of a run whose target streams its answers. Reading them requires three repairs. */
async function streamedRun(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${FRAMES.join('\n\n')}\n\n`);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const cwd = temporaryFolder();
  const target = {
    kind: 'http',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    request: { path: '/chat', body: { message: '${input.user}' } },
    stream: { as: 'sse', first_output: '$.data.text' },
    reply: REPLY,
  };
  writeFileSync(path.join(cwd, 'desk.json'), JSON.stringify(target));
  return (await ranSuite(['one', 'two'], { cwd, target: 'desk.json' })).folder;
}

const ofOne = ({ case_id }: Json): boolean => case_id === 'one';

/** A stored reply with another body, consistent in itself. */
function withBody(reply: Json, body: string): Json {
  return { ...reply, body, bytes: Buffer.byteLength(body), sha256: bytesHash(body) };
}

const lied = (reply: Json): Json => withBody(reply, String(reply['body']).replace('on its way', 'refused'));

const ONE = 'FD14 one.json';
const BOTH = ['FD14 one.json#final_output', 'FD14 two.json#final_output'];

const forgeries: readonly (readonly [what: string, edit: (copy: RunCopy) => void, broken: readonly string[]])[] = [
  ['nothing', () => undefined, []],
  ['a dropped reply', copy => copy.replies(reply => (ofOne(reply) ? undefined : reply)), [ONE]],
  ['no replies at all', copy => copy.replies(() => undefined), [ONE, 'FD14 two.json']],
  [
    'a reply of another attempt',
    copy => copy.replies(reply => (ofOne(reply) ? { ...reply, attempt: 2 } : reply)),
    [ONE],
  ],
  [
    'the hash of another reply',
    copy => copy.attempt('one.json', { reply_sha256: bytesHash('other') }),
    [`${ONE}#attempts`],
  ],
  ['no hash of a reply', copy => copy.attempt('one.json', { reply_sha256: undefined }), [`${ONE}#attempts`]],
  [
    'an edited reply',
    copy => copy.replies(reply => (ofOne(reply) ? lied(reply) : reply)),
    [`${ONE}#attempts`, `${ONE}#final_output`],
  ],
  [
    'an edited reply whose hash the case states',
    copy => {
      copy.replies(reply => {
        if (!ofOne(reply)) return reply;
        copy.attempt('one.json', { reply_sha256: lied(reply)['sha256'] });
        return lied(reply);
      });
    },
    [`${ONE}#final_output`],
  ],
  ...(
    [
      ['an edited output', one => Object.assign(one['final_output'] as Json, { content: 'No.' })],
      ['an edited hash of the output', one => Object.assign(one['final_output'] as Json, { output_hash: 'abc' })],
      ['an added event', one => (one['events'] as Json[]).push({ type: 'thought', ts: 9 })],
      ['an edited tool', one => Object.assign((one['events'] as Json[])[0] as Json, { tool: 'orders.list' })],
      ['a hidden error of a tool', one => Object.assign((one['events'] as Json[])[1] as Json, { status: 'error' })],
      ['an edited workflow', one => (one['workflow_id'] = 'other')],
      ['an edited cost', one => (one['agent_fields'] = { usage: { cost_usd: 0.001 } })],
      ['a removed cost', one => delete one['agent_fields']],
    ] satisfies readonly [string, (one: Json) => unknown][]
  ).map(
    ([what, edit]) =>
      [what, (copy: RunCopy) => copy.change('one.json', one => void edit(one)), [`${ONE}#final_output`]] as const,
  ),
  ['a forged time to the first output', copy => copy.attempt('one.json', { ttft_ms: 0.123 }), [`${ONE}#attempts`]],
  ['no time to the first output', copy => copy.attempt('one.json', { ttft_ms: undefined }), [`${ONE}#attempts`]],
  ['forged repairs', copy => copy.attempt('one.json', { repairs: { R1: 1 } }), [`${ONE}#attempts`]],
  ['no repairs', copy => copy.attempt('one.json', { repairs: undefined }), [`${ONE}#attempts`]],
  [
    'a strict target',
    copy => copy.target(target => (target['replies'] = 'strict')),
    [
      'FD14 one.json#attempts',
      'FD14 one.json#attempts',
      'FD14 one.json#final_output',
      'FD14 two.json#attempts',
      'FD14 two.json#attempts',
      'FD14 two.json#final_output',
    ],
  ],
  ['the mapping of another target', copy => copy.reply(reply => (reply['workflow_id'] = '$.frames[1].event')), BOTH],
  ['another join', copy => copy.reply(reply => Object.assign(reply['final_output'] as Json, { join: ' ' })), BOTH],
];

describe('a suite folder that was edited and sealed again', () => {
  test('is invalid unless every answer follows from its reply', async () => {
    const run = await streamedRun();
    for (const [what, edit, broken] of forgeries) {
      expect((await brokenIn(await forgedRun(run, edit))).sort(), what).toEqual(broken);
    }
  });

  test('is invalid if the arrival times were forged', async () => {
    const run = await streamedRun();
    const folder = await forgedRun(run, copy =>
      copy.replies(reply => ({ ...reply, frame_ms: (reply['frame_ms'] as number[]).map(ms => ms + 5_000) })),
    );
    const broken = await brokenIn(folder);
    for (const id of ['one', 'two']) {
      expect(broken).toContain(`FD14 ${id}.json#attempts`);
      expect(broken).toContain(`FD14 ${id}.json#final_output`);
    }
  });

  test('states the three repairs that reading its replies required', async () => {
    const run = await streamedRun();
    const { attempts } = new RunCopy(run).read('one.json');
    expect(attempts).toMatchObject([{ repairs: { R4: 1, R5: 1, R9: 1 }, ttft_ms: expect.any(Number) as number }]);
  });
});

describe('hostile replies', () => {
  const hostile: readonly (readonly [what: string, body: string])[] = [
    ['deep JSON', `{"frames":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
    ['bytes that are not text', '\u0000'.repeat(1_000)],
    ['a stream of 8 MiB in one frame', `data: "${'x'.repeat(8 * 1024 * 1024)}"\n\n`],
    ['a stream of empty frames', 'data:\n\n'.repeat(300_000)],
    ['a frame of deep JSON', `event: token\ndata: ${'{"text":'.repeat(50_000)}1${'}'.repeat(50_000)}\n\n`],
  ];
  test.each(hostile)('prove nothing, and do no harm: %s', async (_, body) => {
    const run = await streamedRun();
    const folder = await forgedRun(run, copy => {
      copy.replies(reply => {
        if (!ofOne(reply)) return reply;
        copy.attempt('one.json', { reply_sha256: bytesHash(body) });
        return withBody(reply, body);
      });
    });
    expect(await brokenIn(folder)).toContain(`${ONE}#final_output`);
  });

  test('a wide reply proves nothing if its mapping takes too many steps', async () => {
    const body = `data: [${'0,'.repeat(3_000_000)}0]\n\n`;
    const run = await streamedRun();
    const folder = await forgedRun(run, copy => {
      copy.reply(reply => Object.assign(reply['final_output'] as Json, { path: '$.frames[*].data[*]' }));
      copy.replies(reply => withBody(reply, body));
    });
    expect(await brokenIn(folder)).toContain(`${ONE}#final_output`);
  });

  test('a mapping that does not compile is never applied', async () => {
    const run = await streamedRun();
    for (const bad of ['$..text', '$.frames[?search(@.event, "(a+)+b")]', `$${'[*]'.repeat(40)}`]) {
      const folder = await forgedRun(run, copy => copy.reply(reply => (reply['workflow_id'] = bad)));
      const verdicts = await verdictsOf(folder);
      const rules = verdicts.flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id));
      expect(rules, bad).toContain('FD14');
      expect(verdicts.at(-1)?.outcome, bad).toBe('invalid');
    }
  });

  test('replies of unknown cases, and the same reply twice, change nothing', async () => {
    const run = await streamedRun();
    const folder = await forgedRun(run, copy => {
      const lines: string[] = [];
      copy.replies(reply => {
        lines.push(canonicalize(reply), canonicalize(reply), canonicalize({ ...reply, case_id: 'unknown' }));
        return reply;
      });
      copy.write(REPLIES, lines.map(line => `${line}\n`).join(''));
    });
    expect(await brokenIn(folder)).toEqual([]);
  });

  test('a reply in a file outside assets/ is rejected by its own contract', async () => {
    const run = await streamedRun();
    const folder = await forgedRun(run, copy =>
      copy.replies(reply => ({ ...reply, body: undefined, href: ofOne(reply) ? 'assets/../run.json' : 'run.json' })),
    );
    const broken = (await verdictsOf(folder)).flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id));
    expect(broken.filter(id => id === 'RP3')).toHaveLength(2);
  });
});

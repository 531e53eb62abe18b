import { existsSync, readdirSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Exchange, Recording } from '../../../src/contracts/recording/index.ts';
import { recording as contract } from '../../../src/contracts/recording/index.ts';
import { Recorder } from '../../../src/execute/model/recorder.ts';
import { openRecording } from '../../../src/execute/model/recording.ts';
import { verifyFile } from '../../../src/verify/file.ts';
import { exampleWith, temporaryFolder } from '../../support/support.ts';
import { door, errorIn, events, fakeApi, HEADER, KEY, recorded, replaying, send, upstream } from './door-world.ts';

const read = (file: string): Recording => JSON.parse(readFileSync(file, 'utf8')) as Recording;
const ask = (...messages: string[]): string => JSON.stringify({ model: 'm', messages });

describe('a recording', () => {
  test('contains requests and answers, and conforms to its contract', async () => {
    const api = await fakeApi((seen, response) => events(response, `answer to ${seen.body.length}`));
    const file = await recorded(api, [ask('a'), ask('a', 'b'), 'no JSON', ''], { network: 'allow' });
    const recording = read(file);
    expect(recording).toMatchObject({ ...HEADER, ended: 'whole', masked: 0 });
    expect(recording.exchanges.map(({ request }) => request.body)).toEqual([
      { form: 'json', value: { model: 'm', messages: ['a'] } },
      { form: 'json', value: { model: 'm', messages: ['a', 'b'] } },
      { form: 'text', value: 'no JSON' },
      null,
    ]);
    expect(recording.exchanges[0]?.response).toEqual({
      status: 200,
      content_type: 'text/event-stream',
      body: { form: 'text', value: 'data: answer to 30\n\n' },
      complete: true,
    });
    expect(existsSync(`${file}.part`)).toBe(false);
    expect(await verifyFile(file, { strict: true })).toMatchObject({ outcome: 'valid', contract: 'recording' });
  });

  test('answers byte for byte without the model', async () => {
    const bodies = [ask('a'), ask('a', 'b'), ask('a', 'b', 'c'), ask('d')];
    let count = 0;
    const api = await fakeApi((_, response) => {
      if (++count === 1) events(response, 'ä', 'b');
      else if (count === 2) response.writeHead(529, { 'content-type': 'application/json' }).end('{"type":"error"}');
      else if (count === 3) response.writeHead(200).end(Buffer.from([0xff, 0xfe, 0x00]));
      // The end of a text is not recorded if a secret could start there. No secret here starts with this character.
      else response.writeHead(200).write('half!', () => setTimeout(() => response.destroy(), 20));
    });
    const file = path.join(temporaryFolder(), 'recording.json');
    const mode = { kind: 'record', upstream: upstream(api.url), file, header: HEADER } as const;
    const first = await door(mode);
    const before = [];
    for (const body of bodies) before.push(await send(first, { body }));
    expect(await first.close()).toEqual({ exchanges: 4, masked: 0, ended: 'whole' });
    api.close();
    const again = await replaying(file);
    for (const [index, body] of bodies.entries()) {
      const { status, headers, body: text, isCut } = await send(again, { body });
      const then = before[index];
      expect({ status, text, isCut }).toEqual({ status: then?.status, text: then?.body, isCut: then?.isCut });
      expect(headers['content-type']).toBe(then?.headers['content-type']);
    }
    expect(again.difference).toBeUndefined();
    expect(again.unasked).toBe(0);
    expect(await again.close()).toBeUndefined();
  });

  test('contains no key, token or secret, however they are encoded', async () => {
    const secret = 'hunter2 "quoted"';
    const file = path.join(temporaryFolder(), 'recording.json');
    const api = await fakeApi((seen, response) =>
      events(response, JSON.stringify({ echo: seen.headers['x-api-key'], secret })),
    );
    const mode = { kind: 'record', upstream: upstream(api.url), file, header: HEADER } as const;
    const opened = await door(mode, { secrets: [secret], network: 'allow' });
    const spelled = JSON.stringify({ a: secret }).replace('hunter2', '\\u0068unter2');
    await send(opened, { body: spelled, headers: { 'x-note': secret } });
    await send(opened, { body: JSON.stringify({ token: opened.token, key: Buffer.from(KEY).toString('base64') }) });
    await send(opened, { path: `/v1/models/${KEY}`, method: 'GET' });
    const { masked } = (await opened.close()) ?? {};
    const text = readFileSync(file, 'utf8');
    for (const hidden of [KEY, opened.token, 'unter2', 'quoted', Buffer.from(KEY).toString('base64').slice(0, 20)])
      expect(text).not.toContain(hidden);
    expect(masked).toBe(10);
    expect(read(file).masked).toBe(masked);
    // Secrets are masked before the comparison.
    const again = await replaying(file, { secrets: ['other'], network: 'allow' });
    expect(await send(again, { body: JSON.stringify({ a: 'other' }) })).toMatchObject({ status: 200 });
  });

  test('replays overlapping requests in any order', async () => {
    const held: (() => void)[] = [];
    const api = await fakeApi((seen, response) => held.push(() => events(response, seen.body)));
    const file = path.join(temporaryFolder(), 'recording.json');
    const first = await door({ kind: 'record', upstream: upstream(api.url), file, header: HEADER });
    const bodies = ['a', 'b', 'c'].map(text => ask(text));
    const sent = bodies.map(body => send(first, { body }));
    await expect.poll(() => held.length).toBe(3);
    for (const go of held.reverse()) go();
    await Promise.all(sent);
    await first.close();
    const again = await replaying(file);
    const got = await Promise.all(bodies.toReversed().map(body => send(again, { body })));
    expect(got.map(({ body }) => body)).toEqual(bodies.toReversed().map(body => `data: ${body}\n\n`));
    expect(again.unasked).toBe(0);
  });

  test('reports that it is full, and replays what it contains', async () => {
    const api = await fakeApi((_, response) => events(response, 'x'.repeat(3_000)));
    const file = path.join(temporaryFolder(), 'recording.json');
    const mode = { kind: 'record', upstream: upstream(api.url), file, header: HEADER } as const;
    const opened = await door(mode, { limits: { recordingBytesMax: 12_000 }, network: 'allow' });
    for (const body of ['1', '2', '3', '4']) expect((await send(opened, { body })).body).toHaveLength(3_008);
    expect(await opened.close()).toMatchObject({ exchanges: 2, ended: 'cut' });
    const again = await replaying(file, { network: 'allow' });
    expect((await send(again, { body: '1' })).status).toBe(200);
    expect((await send(again, { body: '2' })).status).toBe(200);
    const got = await send(again, { body: '3' });
    expect(got.status).toBe(400);
    expect(errorIn(got.body)).toBe(
      'request 3 is not in the recording, which has 2 requests and reached its size limit.',
    );
  });

  test('stays usable if its recorder dies', async () => {
    const api = await fakeApi((seen, response) => {
      if (!seen.body.includes('hang')) events(response, 'one');
    });
    const file = path.join(temporaryFolder(), 'recording.json');
    const mode = { kind: 'record', upstream: upstream(api.url), file, header: HEADER } as const;
    const opened = await door(mode);
    await send(opened, { body: ask('a') });
    const hanging = send(opened, { body: ask('hang') }).catch(() => undefined);
    await expect.poll(() => api.seen.length).toBe(2);
    await send(opened, { body: ask('b') });
    // The file at this moment, with an incomplete line.
    const left = path.join(temporaryFolder(), 'recording.json');
    writeFileSync(`${left}.part`, `${readFileSync(`${file}.part`, 'utf8')}{"line":"requ`);
    await opened.close();
    await hanging;
    const again = await replaying(left);
    expect((await send(again, { body: ask('a') })).status).toBe(200);
    expect((await send(again, { body: ask('b') })).status).toBe(200);
    expect((await send(again, { body: ask('hang') })).status).toBe(400);
    expect(again.difference).toBe('request 3 is not in the recording, which has 2 requests and was interrupted');
    await expect(door({ ...mode, file: left })).rejects.toThrow('died while writing it');
    // A recorder that is closed normally records that there was no answer.
    expect(read(file).exchanges.map(({ response }) => response === null)).toEqual([false, true, false]);
  });

  test('never replaces a file, and leaves none if there were no requests', async () => {
    const file = path.join(temporaryFolder(), 'mine.json');
    writeFileSync(file, 'mine');
    const mode = { kind: 'record', upstream: upstream('http://127.0.0.1:1'), header: HEADER } as const;
    await expect(door({ ...mode, file })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('mine.json already exists.') as string,
    });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const folder = temporaryFolder();
    const quiet = await door({ ...mode, file: path.join(folder, 'quiet.json') });
    expect(await quiet.close()).toMatchObject({ exchanges: 0 });
    const stage = temporaryFolder();
    mkdirSync(path.join(stage, 'door', 'model.sock'), { recursive: true });
    const nowhere = door({ ...mode, file: path.join(folder, 'none.json') }, { at: { kind: 'socket', stage } });
    await expect(nowhere).rejects.toThrow('could not be started');
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('records a body that is too deep for a document as text', async () => {
  const api = await fakeApi((_, response) => events(response, 'one'));
  const deep = `${'['.repeat(60)}1${']'.repeat(60)}`;
  const dense = `[${Array.from({ length: 5_000 }, () => '1').join()}]`;
  const file = await recorded(api, [deep, dense, '{"a":1,"a":2}', '[1e400]'], { network: 'allow' });
  expect(openRecording(file, 'claude_cli').exchanges.map(({ request }) => request.body)).toEqual([
    { form: 'text', value: deep },
    { form: 'text', value: dense },
    { form: 'text', value: '{"a":1,"a":2}' },
    { form: 'text', value: '[1e400]' },
  ]);
});

describe('refuses an invalid recording before anything starts', () => {
  const refusal = (text: string | undefined, folder = temporaryFolder()): string => {
    const file = path.join(folder, 'r.json');
    if (text !== undefined) writeFileSync(file, text);
    try {
      openRecording(file, 'claude_cli');
      return 'accepted';
    } catch (error) {
      expect(error).toMatchObject({ name: 'Fault', code: 'usage' });
      return (error as Error).message;
    }
  };
  const example = (changes: Record<string, unknown>): string => JSON.stringify(exampleWith(contract, changes));
  test.each([
    ['a missing file', undefined, 'r.json does not exist, so there is nothing to replay.'],
    ['an empty file', '', 'r.json is not a recording: The document is empty.'],
    ['a truncated file', example({}).slice(0, -9), 'r.json is not a recording: '],
    ['another document', '{"schema_version":"intent.v1"}', 'r.json is not a recording of an agent.'],
    [
      'another version',
      example({ schema_version: 'recording.v2' }),
      'r.json has an unsupported recording format version.',
    ],
    [
      'another agent',
      example({ agent_family: 'codex_cli' }),
      'r.json is a recording of Codex and cannot be replayed for Claude.',
    ],
    ['no answers', example({ exchanges: [] }), 'r.json contains no answers, so there is nothing to replay.'],
    [
      'a gap in the sequence',
      example({ 'exchanges.0.seq': 2 }),
      'r.json is not a valid recording: RC6: exchanges[0].seq',
    ],
  ])('%s', (_, text, says) => {
    expect(refusal(text)).toContain(says);
  });

  test('with random changes', () => {
    const text = JSON.stringify(contract.example);
    const folder = temporaryFolder();
    fc.assert(
      fc.property(fc.nat(text.length), fc.string({ maxLength: 5 }), fc.nat(20), (at, put, taken) => {
        const said = refusal(text.slice(0, at) + put + text.slice(at + taken), folder);
        expect(said).toMatch(/^(?:accepted$|r\.json )/);
      }),
      { numRuns: 200 },
    );
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), value => {
        expect(refusal(value, folder)).toMatch(/^r\.json /);
      }),
      { numRuns: 200 },
    );
  });

  test('that is partial, with random changes', () => {
    const folder = temporaryFolder();
    const recorder = new Recorder(path.join(folder, 'a.json'), { ...HEADER, api: 'anthropic' }, 1_000_000);
    const { request, response } = (contract.example as Recording).exchanges[0] as Exchange;
    for (const masked of [0, 1]) recorder.response(recorder.request(request, masked), response, masked);
    const lines = readFileSync(path.join(folder, 'a.json.part'), 'utf8');
    fc.assert(
      fc.property(fc.nat(lines.length), fc.string({ maxLength: 5 }), fc.nat(20), (at, put, taken) => {
        const file = path.join(folder, 'b.json');
        writeFileSync(`${file}.part`, lines.slice(0, at) + put + lines.slice(at + taken));
        try {
          expect(openRecording(file, 'claude_cli').ended).toBe('interrupted');
        } catch (error) {
          expect(error).toMatchObject({ name: 'Fault', code: 'usage' });
        }
      }),
      { numRuns: 200 },
    );
  });
});

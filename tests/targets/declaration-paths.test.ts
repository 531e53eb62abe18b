import { describe, expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import { target, type TargetDeclaration } from '../../src/contracts/target/index.ts';
import { declarationFaults } from '../../src/targets/declaration-faults.ts';
import { mappedPlaces } from '../../src/targets/mapped-places.ts';

const REPLY = { final_output: '$.text' };

const HTTP = { kind: 'http', url: 'http://127.0.0.1:1', request: { path: '/ask' }, reply: REPLY };

function faultsOf(change: object): string[] {
  return [...declarationFaults({ ...HTTP, ...change } as TargetDeclaration)].map(({ message }) => message);
}

describe('a declaration', () => {
  test.each<[string, object, string]>([
    ['its path has no slash', { request: { path: 'ask' } }, 'request.path: A path must start with a single slash.'],
    [
      'its path is a URL',
      { request: { path: 'http://127.0.0.1:2/ask' } },
      'request.path: A path must start with a single slash.',
    ],
    [
      'its path names another host',
      { request: { path: '//other/ask' } },
      'request.path: A path must start with a single slash.',
    ],
    [
      'its path has a space',
      { request: { path: '/a b' } },
      'request.path: Percent-encode spaces and characters outside ASCII.',
    ],
    ['its reset path has no slash', { reset: { path: 'x' } }, 'reset.path: A path must start with a single slash.'],
    [
      'its poll path has no slash',
      { poll: { id: '$.id', path: 'jobs', until: { path: '$.state', in: ['done'] } } },
      'poll.path: A path must start with a single slash.',
    ],
    ['its version path has no slash', { version: { path: 'v' } }, 'version.path must start with a single slash.'],
    [
      'it needs a port but starts nothing',
      { url: 'http://127.0.0.1:${port}' },
      'url has ${port}, but nothing is started. Declare start.',
    ],
  ])('is rejected if %s', (_, change, sentence) => {
    expect(faultsOf(change)).toEqual([sentence]);
  });

  test('is accepted with a path below its URL', () => {
    expect(faultsOf({ request: { path: '/ask/${case.id}' } })).toEqual([]);
  });
});

test('a rule whose `each` finds no item is shown as empty, and its keys are not shown', () => {
  const declaration: TargetDeclaration = {
    kind: 'http',
    url: 'http://127.0.0.1:1',
    request: { path: '/ask' },
    reply: {
      ...REPLY,
      events: [
        { as: 'tool_call', each: "$.trace[?@.step=='cal']", tool: '@.name' },
        { as: 'tool_call', each: "$.trace[?@.step=='call']", tool: '@.name', call_id: '@.id' },
      ],
    },
  };
  const body = Buffer.from('{"text":"Hello","trace":[{"step":"call","name":"a"}]}');
  expect(
    mappedPlaces(declaration, { body }, 1_000).map(({ place, isFound, found }) => [place, isFound, found]),
  ).toEqual([
    ['final_output', true, '"Hello"'],
    ['events[0].each', false, '0 items'],
    ['events[1].each', true, '1 item'],
    ['events[1].tool', true, undefined],
    ['events[1].call_id', false, undefined],
  ]);
});

describe('a literal credential is rejected', () => {
  test.each<[string, object]>([
    ['headers', { headers: { 'x-api-key': 'abc' } }],
    ['headers, next to a placeholder', { headers: { authorization: 'Bearer abc${env:A}' } }],
    ['query', { request: { path: '/ask', query: { api_key: 'abc' } } }],
    ['start.env', { start: { run: ['node', 'a.js'], env: { OPENAI_API_KEY: 'abc' } } }],
  ])('in %s', (_, change) => {
    expect(check(target, { ...HTTP, ...change }, { strict: true, internal: false }).violations).toMatchObject([
      { rule_id: 'TG2', message: expect.stringMatching(/must come from \$\{env:NAME\}/) },
    ]);
  });

  test('but a placeholder is not', () => {
    const headers = { authorization: 'Bearer ${env:A}', 'x-request-key': '${attempt.key}' };
    expect(check(target, { ...HTTP, headers }, { strict: true, internal: false }).violations).toEqual([]);
  });
});

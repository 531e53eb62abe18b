import { describe, expect, test } from 'vitest';
import type { TargetDeclaration } from '../../src/contracts/target/index.ts';
import { declarationFaults } from '../../src/targets/declaration-faults.ts';
import { mappedPlaces } from '../../src/targets/mapped-places.ts';

const REPLY = { final_output: '$.text' };

function faultsOf(change: object): string[] {
  const target = { kind: 'http', url: 'http://127.0.0.1:1', request: { path: '/ask' }, reply: REPLY, ...change };
  return [...declarationFaults(target as TargetDeclaration)].map(({ message }) => message);
}

describe('a declaration is rejected before anything is sent if', () => {
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
    ['it resets elsewhere', { reset: { path: 'x' } }, 'reset.path: A path must start with a single slash.'],
    [
      'it polls elsewhere',
      { poll: { id: '$.id', path: 'jobs', until: { path: '$.state', in: ['done'] } } },
      'poll.path: A path must start with a single slash.',
    ],
    ['its version is elsewhere', { version: { path: 'v' } }, 'version.path must start with a single slash.'],
    [
      'it needs a port and starts nothing',
      { url: 'http://127.0.0.1:${port}' },
      'url has ${port}, but nothing is started. Declare start.',
    ],
  ])('%s', (_, change, sentence) => {
    expect(faultsOf(change)).toEqual([sentence]);
  });

  test('and accepted with a path below its URL', () => {
    expect(faultsOf({ request: { path: '/ask/${case.id}' } })).toEqual([]);
  });
});

test('a rule whose `each` finds no item is shown as empty, and its keys are not', () => {
  const target: TargetDeclaration = {
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
  expect(mappedPlaces(target, { body }, 1_000).map(({ place, isFound, found }) => [place, isFound, found])).toEqual([
    ['final_output', true, '"Hello"'],
    ['events[0].each', false, '0 items'],
    ['events[1].each', true, '1 item'],
    ['events[1].tool', true, undefined],
    ['events[1].call_id', false, undefined],
  ]);
});

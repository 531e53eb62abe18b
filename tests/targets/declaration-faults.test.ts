import { expect, test } from 'vitest';
import type { DeclarationOf, TargetDeclaration } from '../../src/contracts/target/index.ts';
import { declarationFaults } from '../../src/targets/declaration-faults.ts';

const TOOL: DeclarationOf<'mcp-tool'> = { kind: 'mcp-tool', tool: 'ask', arguments: {} };
const SOCKET: DeclarationOf<'websocket'> = {
  kind: 'websocket',
  url: 'ws://127.0.0.1:9',
  send: ['hi'],
  reply: { final_output: '$' },
};

test.each<[what: string, declaration: TargetDeclaration, path: string]>([
  ['a tool without a server', TOOL, 'url'],
  ['a tool with two servers', { ...TOOL, url: 'http://127.0.0.1:9', run: ['server'] }, 'url'],
  ['headers for a program', { ...TOOL, run: ['server'], headers: { 'x-a': 'b' } }, 'headers'],
  ['variables for a server that is not started', { ...TOOL, url: 'http://127.0.0.1:9', env: { A: 'b' } }, 'env'],
  ['a case value in the command of a program', { ...TOOL, run: ['server', '${case.id}'] }, 'run[1]'],
  ['an unknown name in an argument', { ...TOOL, run: ['server'], arguments: { q: '${input.usr}' } }, 'arguments.q'],
  [
    'a header that the protocol reserves',
    { ...TOOL, url: 'http://127.0.0.1:9', headers: { 'Mcp-Name': 'x' } },
    'headers.Mcp-Name',
  ],
  ['a reset request for a WebSocket', { ...SOCKET, reset: { path: '/reset' } }, 'reset'],
  ['an unknown name in a message', { ...SOCKET, send: ['hi', { a: '${user}' }] }, 'send[1].a'],
  ['an invalid path in until', { ...SOCKET, until: { path: '$..a', in: [1] } }, 'until.path'],
  ['an HTTP address for a WebSocket', { ...SOCKET, url: 'http://127.0.0.1:9' }, 'url'],
  ['a variable in the command of a server', { ...TOOL, run: ['server', '--key=${env:A}'] }, 'run[1]'],
  [
    'a variable in the command of an agent',
    { ...TOOL, url: 'http://127.0.0.1:${port}', start: { run: ['agent', '${env:A}'], env: { B: '${env:B}' } } },
    'start.run[1]',
  ],
  ['a variable in the command of a program', { kind: 'command', run: ['agent', '${env:A}'] }, 'run[1]'],
  [
    'an invalid path in stream.until',
    {
      kind: 'http',
      url: 'http://127.0.0.1:9',
      request: {},
      stream: { as: 'sse', until: { path: '$..a', in: [1] } },
      reply: { final_output: '$' },
    },
    'stream.until.path',
  ],
  [
    'a header that the handshake reserves',
    { ...SOCKET, headers: { 'Sec-WebSocket-Key': 'x' } },
    'headers.Sec-WebSocket-Key',
  ],
])('reports %s with its key', (_what, declaration, path) => {
  expect([...declarationFaults(declaration)].map(fault => fault.path)).toEqual([path]);
});

test('reports nothing for valid declarations', () => {
  const sound: TargetDeclaration[] = [
    { ...TOOL, run: ['server', '$${env:A}'], env: { B: '${env:B}' }, arguments: { q: '${input.user}' } },
    { ...TOOL, url: 'http://127.0.0.1:8080/mcp', auth: { bearer: '${env:A}' } },
    { ...SOCKET, url: 'wss://desk.example.com/talk', headers: { 'sec-websocket-protocol': 'desk.v1' } },
  ];
  for (const declaration of sound) expect([...declarationFaults(declaration)]).toEqual([]);
});

test('suggests the key that may contain variables', () => {
  const [fault] = declarationFaults({ ...TOOL, run: ['server', '${env:A}'] });
  expect(fault?.message).toBe(
    "run[1]: Every user of the machine can read a program's arguments. Pass the variable through env.",
  );
  const start = { run: ['agent', '${env:A}'] };
  const [other] = declarationFaults({ ...TOOL, url: 'http://127.0.0.1:${port}', start });
  expect(other?.message).toContain('Pass the variable through start.env.');
});

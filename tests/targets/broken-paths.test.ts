import { expect, test } from 'vitest';
import type { SuiteRequest } from '../../src/contracts/suite/index.ts';
import type { DeclarationOf, TargetDeclaration } from '../../src/contracts/target/index.ts';
import { replyProof } from '../../src/targets/answer-proof.ts';
import { declarationFaults } from '../../src/targets/declaration-faults.ts';

const reply = { final_output: '$' };
const SOCKET: DeclarationOf<'websocket'> = { kind: 'websocket', url: 'ws://127.0.0.1:9', send: ['hi'], reply };
const API: DeclarationOf<'http'> = { kind: 'http', url: 'http://127.0.0.1:9', request: {}, reply };

test.each<[string, TargetDeclaration]>([
  ['first_output', { ...SOCKET, first_output: '$..a' }],
  ['stream.first_output', { ...API, stream: { as: 'sse', first_output: '$..a' } }],
  ['version.read', { ...API, version: { path: '/version', read: '$..a' } }],
])('an invalid path at %s is reported with its key', (place, declaration) => {
  expect([...declarationFaults(declaration)].map(({ path }) => path)).toEqual([place]);
});

test('the verifier proves nothing with an invalid path, and does not throw', () => {
  const declaration = { ...SOCKET, first_output: '$..a' };
  const target = { kind: 'declared', name: 't', replies: 'strict', declaration } as const;
  const settings = { max_body_bytes: 1_000, max_payload_inline_bytes: 1_000 } as SuiteRequest['settings'];
  const stored = { schema_version: 'suite-reply.v1', case_id: 'c', attempt: 1, sha256: 'x', bytes: 4 } as const;
  expect(replyProof({ target, settings, version: 'new' })?.(stored, Buffer.from('"x"\n')).response).toBe('none');
});

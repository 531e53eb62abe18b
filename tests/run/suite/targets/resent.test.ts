import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { resendCase } from '../../../../src/verbs/resend.ts';
import { ranDeclared } from './declared-world.ts';

const HIDDEN = 'hunter2-of-the-desk';

test('a resend masks every secret of the run, not only those of the target file', async () => {
  const server = createServer((_request, response) => response.end(JSON.stringify({ text: `It is ${HIDDEN}.` })));
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const declaration = { kind: 'http', url, request: { body: {} }, reply: { final_output: '$.text' } };
  const { cwd } = await ranDeclared(['a'], declaration, { secrets: { OTHER: HIDDEN } });
  const { now } = await resendCase({
    run: 'latest',
    caseId: 'a',
    target: 'agent.target.json',
    cwd,
    environment: {},
    variable: name => (name === 'OTHER' ? HIDDEN : undefined),
  });
  expect(now.final_output?.content).toBe('It is [masked].');
});

test('a resend starts a program within the limits of its target, and can be interrupted', async () => {
  const run = ['node', '-e', 'process.stdin.resume(); setTimeout(() => console.log("late"), process.env.WAIT_MS)'];
  const declaration = { kind: 'command', run, env: { WAIT_MS: '0' }, sandbox: 'none', timeout: '1s' };
  const environment = { PATH: process.env['PATH'] };
  const { cwd } = await ranDeclared(['a'], declaration, { environment });
  const asked = { run: 'latest', caseId: 'a', target: 'agent.target.json', cwd, environment };
  expect((await resendCase(asked)).now).toMatchObject({ status: 'ok', final_output: { content: 'late' } });
  const slower = { ...declaration, env: { WAIT_MS: '60000' } };
  writeFileSync(path.join(cwd, 'agent.target.json'), JSON.stringify(slower));
  expect((await resendCase(asked)).now.runner_failure).toMatchObject({ class: 'timeout' });
  const stop = AbortSignal.abort();
  await expect(resendCase({ ...asked, signal: stop })).rejects.toThrow(/[Cc]ancelled/);
});

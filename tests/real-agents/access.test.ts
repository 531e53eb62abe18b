import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { EDIT } from './behaviours.ts';
import { agentsFolder, expectInOrder, world } from './world.ts';

const TOKEN = 'a-token-that-must-not-leave-its-keeper';

describe.runIf(agentsFolder !== '')('the real claude', () => {
  test.each([
    ['ANTHROPIC_AUTH_TOKEN', false],
    ['CLAUDE_CODE_OAUTH_TOKEN', true],
  ])('uses %s as it would outside the sandbox, and only the model API sees it', async (name, isLogin) => {
    const made = await world();
    const env = { [name]: TOKEN, ANTHROPIC_BASE_URL: made.api.url };
    const run = await made.runWith('claude', 'SCENARIO=write', EDIT, env);
    expect(run.answer, run.stderr).toMatchObject({
      termination: 'completed',
      model_access: { credential: { from: 'environment', name } },
    });
    const bearers = made.api.asked.map(({ headers }) => headers.authorization);
    expect(new Set(bearers)).toEqual(new Set([`Bearer ${TOKEN}`]));
    for (const { headers } of made.api.asked) {
      expect(headers['x-api-key']).toBeUndefined();
      expect(String(headers['anthropic-beta']).includes('oauth-')).toBe(isLogin);
    }
    expect(run.bytes).not.toContain(TOKEN);
    await expectInOrder(made);
  });

  test('repeats its work from a recording that was made with a login', async () => {
    const made = await world();
    const flags = (mode: string): string[] => [...EDIT, '--model-mode', mode, '--recording', 'run.json'];
    const env = { CLAUDE_CODE_OAUTH_TOKEN: TOKEN, ANTHROPIC_BASE_URL: made.api.url };
    const first = await made.runWith('claude', 'SCENARIO=write', flags('record'), env);
    expect(first.answer, first.stderr).toMatchObject({ termination: 'completed' });
    await made.api.close();
    const again = await made.runWith('claude', 'SCENARIO=write', flags('replay'), {});
    expect(again.answer, again.stderr).toMatchObject({ termination: 'completed', model_access: { mode: 'replay' } });
    await expectInOrder(made);
  });
});

describe.runIf(agentsFolder !== '').each(['claude', 'codex'] as const)('the real %s', agent => {
  test('repeats its work from a recording after a new commit', async () => {
    const made = await world();
    const flags = (mode: string): string[] => [...EDIT, '--model-mode', mode, '--recording', 'run.json'];
    const first = await made.run(agent, 'SCENARIO=write', flags('record'));
    expect(first.answer, first.stderr).toMatchObject({ termination: 'completed' });
    await made.api.close();
    writeFileSync(path.join(made.repository, 'later.txt'), 'later\n');
    gitIn(made.repository, 'add', '--all');
    gitIn(made.repository, 'commit', '-q', '-m', 'Something else: (clean) 1234567 and more');
    const again = await made.run(agent, 'SCENARIO=write', flags('replay'), null);
    expect(again.answer, again.stderr).toMatchObject({ termination: 'completed', model_access: { mode: 'replay' } });
    await expectInOrder(made);
  });
});

describe.runIf(agentsFolder !== '')('the real codex', () => {
  test('can use its login on request, without seeing it', async () => {
    const made = await world();
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const access_token = `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1_000) + 3_600 })}.${TOKEN}`;
    const tokens = {
      access_token,
      refresh_token: `refresh-${TOKEN}`,
      id_token: `id-${TOKEN}`,
      account_id: 'account-1',
    };
    mkdirSync(path.join(made.cwd, '.codex'));
    writeFileSync(path.join(made.cwd, '.codex', 'auth.json'), JSON.stringify({ tokens }), { mode: 0o600 });
    const env = { CHATGPT_BASE_URL: `${made.api.url}/v1` };
    const run = await made.runWith('codex', 'SCENARIO=write', [...EDIT, '--login', 'codex'], env);
    expect(run.answer, run.stderr).toMatchObject({
      termination: 'completed',
      model_access: { credential: { from: 'login', name: 'codex' } },
    });
    expect(made.api.asked.length).toBeGreaterThan(0);
    for (const { headers } of made.api.asked)
      expect(headers).toMatchObject({ authorization: `Bearer ${access_token}`, 'chatgpt-account-id': 'account-1' });
    expect(run.bytes).not.toContain(TOKEN);
    await expectInOrder(made);
  });
});

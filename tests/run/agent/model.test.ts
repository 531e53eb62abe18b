import { expect, test } from 'vitest';
import { claudeCli } from '../../../src/adapters/claude-cli.ts';
import { modelFor, warningsOf } from '../../../src/run/agent/model.ts';

const order = { agent: 'claude', task: 'x', dir: '/', cwd: '/', policy: 'edit' } as const;

function warnings(key: string | undefined, modelMode: 'live' | 'record' = 'live'): string[] {
  const environment = { ANTHROPIC_API_KEY: key };
  return warningsOf(modelFor({ ...order, modelMode, recording: 'run.json', environment }, claudeCli));
}

test('warns about a key that is an ordinary word, because masking it changes other text', () => {
  expect(warnings('any')).toEqual([
    'The key in ANTHROPIC_API_KEY is so short that masking it changes other words. Use a longer one.',
  ]);
  expect(warnings('any', 'record')).toEqual([expect.stringContaining('the recording may not replay') as string]);
  expect(warnings('longer-than-a-word')).toEqual([]);
  expect(warnings(undefined)).toEqual([
    'None of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN is set, so claude cannot reach a model.',
  ]);
});

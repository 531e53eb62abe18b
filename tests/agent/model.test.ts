import { expect, test } from 'vitest';
import { claudeCli } from '../../src/adapters/claude-cli.ts';
import { modelFor, warningsOf } from '../../src/run/agent/model.ts';

const order = { agent: 'claude', task: 'x', dir: '/', cwd: '/', policy: 'edit' } as const;

function warnings(key: string | undefined, modelMode: 'live' | 'record' = 'live'): string[] {
  const environment = { ANTHROPIC_API_KEY: key };
  return warningsOf(modelFor({ ...order, modelMode, recording: 'run.json', environment }, claudeCli));
}

test('a key that is a word of everyday language is warned of, since it is masked wherever it stands', () => {
  expect(warnings('any')).toEqual([
    'The key in ANTHROPIC_API_KEY is so short that it is masked in the midst of other words. Take a longer one.',
  ]);
  expect(warnings('any', 'record')).toEqual([
    expect.stringContaining('what is recorded may not be had again') as string,
  ]);
  expect(warnings('longer-than-a-word')).toEqual([]);
  expect(warnings(undefined)).toEqual([
    'None of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN is set, so claude has no way to a model.',
  ]);
});

import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { proctor, ROOT } from '../support/support.ts';

test('npm start runs a good, a hostile and a hanging script, and intents, and shows the evidence', () => {
  const { stdout, stderr, status } = spawnSync('npm', ['start', '--silent'], { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toMatch(/✓ succeeded {2}report\.py/);
  expect(stderr).toMatch(/✗ failed {2}hostile\.py/);
  expect(stderr).toMatch(/✗ timed out {2}hanging\.sh/);
  expect(stderr).toMatch(/✓ BUNDLE {2}build-config\.json {2}accepted, policy strict/);
  expect(stderr).toMatch(/\? CLARIFY {2}vague\.json[\s\S]*✓ BUNDLE {2}vague\.json/);
  expect(stderr).toMatch(/✗ REFUSE {2}forbidden\.json/);
  expect(stdout).toMatch(/✓ identical {2}byte for byte/);
  expect(stdout).not.toContain('it worked');
  expect(stdout).toMatch(/probe {5}✓ network: A connection/);
  expect(stdout).toMatch(/✓ .*all \d+ valid/);
  expect(status).toBe(0);
});

test('schema and example print what verify accepts, and list their names', () => {
  const names = proctor(['schema']).stdout.trim().split('\n');
  expect(proctor(['example']).stdout.trim().split('\n')).toEqual(names);
  for (const name of names) {
    expect(JSON.parse(proctor(['schema', name]).stdout)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
    });
    expect(proctor(['verify', '--as', name, '-'], { input: proctor(['example', name]).stdout }).code, name).toBe(0);
  }
  expect(proctor(['schema', 'nothing'])).toMatchObject({ code: 2, stdout: '' });
  expect(proctor(['schema', '__proto__']).code).toBe(2);
});

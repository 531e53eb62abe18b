import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

test('every error has the name of its class', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
  const named = files.flatMap(file => [
    ...readFileSync(path.join('src', file), 'utf8').matchAll(
      /class (\w+) extends Error \{\s+override readonly name = '(\w+)'/g,
    ),
  ]);
  expect(named.length).toBeGreaterThan(2);
  for (const [, name, stated] of named) expect(stated).toBe(name);
});

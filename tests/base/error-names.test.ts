import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

test('every error has the name of its class', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
  const text = files.map(file => readFileSync(path.join('src', file), 'utf8')).join('\n');
  const named = [...text.matchAll(/class (\w+) extends Error \{\s+override readonly name = '(\w+)'/g)];
  expect(named.length).toBeGreaterThan(2);
  for (const [, name, stated] of named) expect(stated).toBe(name);
});

import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { openApi } from '../../../src/serve/http/openapi.ts';
import { ROUTES } from '../../../src/serve/routes/index.ts';

test('the OpenAPI document satisfies an independent validator', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(openApi(ROUTES))));
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
});

test('every route has a name, an address and a sentence of its own', () => {
  const names = ROUTES.map(({ name }) => name);
  const addresses = ROUTES.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(addresses).size).toBe(addresses.length);
  for (const { why } of ROUTES) expect(why).toMatch(/^[A-Z][^\n]{5,120}\.$/);
});

test('every parameter in a path has a shape, and no other', () => {
  const { paths } = openApi(ROUTES) as { paths: Record<string, Record<string, { parameters: Parameter[] }>> };
  for (const [path, operations] of Object.entries(paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const { parameters } of Object.values(operations))
      expect(parameters.filter(one => one.in === 'path').map(({ name }) => name)).toEqual(named);
  }
});

interface Parameter {
  readonly name: string;
  readonly in: string;
}

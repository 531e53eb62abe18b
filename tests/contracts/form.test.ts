import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadContracts } from '../../src/contracts/catalogue.ts';
import { formOf } from '../../src/contracts/form.ts';

const contracts = await loadContracts();

/** The paths of all nested values. */
function placesIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, inner]) =>
      placesIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function replaced(document: unknown, path: readonly (string | number)[], change: (old: unknown) => unknown): unknown {
  if (path.length === 0) return change(document);
  const copy = structuredClone(document);
  const parent = path.slice(0, -1).reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], copy);
  const last = path.at(-1) as string;
  const changed = change((parent as Record<string, unknown>)[last]);
  if (changed === undefined) Reflect.deleteProperty(parent as object, last);
  else (parent as Record<string, unknown>)[last] = changed;
  return copy;
}

describe.each(contracts.map(contract => [contract.name, contract] as const))(
  'the fast path of %s',
  (_, { shape, example }) => {
    test('never accepts a value that has faults', () => {
      const places = placesIn(example);
      const value = fc.oneof(
        fc.constantFrom<unknown>(
          undefined,
          null,
          '',
          'x',
          0,
          -1,
          1.5,
          2 ** 53,
          true,
          [],
          {},
          [''],
          [1],
          { x: 1 },
          '/etc',
          'sha256:',
          '2026-02-30T00:00:00Z',
        ),
        fc.jsonValue(),
      );
      fc.assert(
        fc.property(fc.nat(places.length - 1), value, (place, value) => {
          const document = replaced(example, places[place] ?? [], () => value);
          const isSound =
            [...formOf(shape).faults(document, '')].length === 0 &&
            [...formOf(shape).unknown(document, '')].length === 0;
          if (formOf(shape).fits(document)) expect(isSound).toBe(true);
          // zod's verdict is the reference.
          expect([...formOf(shape).faults(document, '')].length === 0).toBe(shape.safeParse(document).success);
        }),
        { numRuns: 600 },
      );
    });

    test('never accepts an extra key, at any depth', () => {
      const objects = placesIn(example).filter(path => {
        const node = path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], example);
        return typeof node === 'object' && node !== null && !Array.isArray(node);
      });
      for (const path of objects) {
        const document = replaced(example, path, old => ({ ...(old as object), surprise: 1 }));
        if (formOf(shape).fits(document)) expect([...formOf(shape).unknown(document, '')]).toEqual([]);
      }
    });
  },
);

test('the fast path accepts every example', () => {
  const slow = contracts.filter(({ shape, example }) => !formOf(shape).fits(example)).map(({ name }) => name);
  expect(slow).toEqual([]);
});

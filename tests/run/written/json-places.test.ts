import fc from 'fast-check';
import { type Node, parseTree } from 'jsonc-parser';
import { expect, test } from 'vitest';
import { placeOf } from '../../../src/base/place.ts';
import { JsonPlaces } from '../../../src/run/written/json-places.ts';

/** Every path in the tree of another parser, with its position. */
function* placesIn(node: Node, here: string): Generator<{ place: string; offset: number }> {
  for (const [index, child] of (node.children ?? []).entries()) {
    const [key, value] = node.type === 'object' ? (child.children as [Node, Node]) : [child, child];
    const place = placeOf(here, node.type === 'object' ? (key.value as string) : index);
    yield { place, offset: child.offset };
    yield* placesIn(value, place);
  }
}

test('every place has the line that another parser finds, whatever the white space', () => {
  const key = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '[', '.', '\n', 'é'), maxLength: 3 });
  const value = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(null, true, -1.5e3, '', '"]},{', 'a\\'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value;
  const list = fc.array(value, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(list, fc.constantFrom('', ' ', '\t', '  '), fc.boolean(), (cases, indent, isObject) => {
      const written = `\r\n ${JSON.stringify(isObject ? { suite: '[', cases } : cases, null, indent)}\n`;
      const text = written.replaceAll(':', ' :\n');
      const places = new JsonPlaces(text);
      const tree = parseTree(text) as Node;
      const nodes = isObject ? tree.children?.[1]?.children?.[1]?.children : tree.children;
      for (const [index, node] of (nodes ?? []).entries()) {
        expect(places.lineInCase(index, 'missing')).toBe(lineOf(text, node.offset));
        for (const { place, offset } of placesIn(node, '')) {
          expect(places.lineInCase(index, place), place).toBe(lineOf(text, offset));
        }
      }
    }),
  );
});

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

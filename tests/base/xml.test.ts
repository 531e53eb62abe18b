import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tagsOf, XmlFault } from '../../src/base/xml.ts';

const read = (text: string) => [...tagsOf(text)];

function trouble(text: string): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof XmlFault) return error.message;
    throw error;
  }
  throw new Error('A fault was expected.');
}

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  readonly text: string;
}

const nameArbitrary = fc.stringMatching(/^[A-Za-z_][\w.-]{0,8}$/);
const textArbitrary = fc
  .string({ unit: 'binary', maxLength: 12 })
  .filter(text => !text.includes('\0') && text.isWellFormed());
const elementOf: (depth: number) => fc.Arbitrary<Element> = fc.memo<Element>(depth =>
  fc.record({
    name: nameArbitrary,
    attributes: fc.dictionary(nameArbitrary, textArbitrary, { maxKeys: 4, noNullPrototype: true }),
    children: depth <= 1 ? fc.constant([]) : fc.array(elementOf(depth - 1), { maxLength: 3 }),
    text: textArbitrary,
  }),
);
const elementArbitrary = elementOf(4);

const escaped = (text: string): string =>
  text.replace(/[&<>"'\t\r\n]/g, unit => `&#x${(unit.codePointAt(0) as number).toString(16)};`);

function written({ name, attributes, children, text }: Element): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key} = "${escaped(value)}"`);
  const inside = `${escaped(text)}<!-- <no> --><![CDATA[ <x a="]> &none; ]]>${children.map(written).join('')}`;
  return `<${name}${pairs.join('')}>${inside}</${name} >`;
}

function tagsIn({ name, attributes, children }: Element, depth = 1): unknown[] {
  return [
    ['open', name, Object.entries(attributes), depth],
    ...children.flatMap(child => tagsIn(child, depth + 1)),
    ['close', name, [], depth],
  ];
}

describe('the XML reader', () => {
  test('reads back every document that is written with escapes', () => {
    fc.assert(
      fc.property(elementArbitrary, element => {
        const tags = read(`<?xml version="1.0" encoding="UTF-8"?>\n${written(element)}\n`);
        const seen = tags.map(({ kind, name, attributes, depth }) => [kind, name, [...attributes], depth]);
        expect(seen).toEqual(tagsIn(element));
      }),
      { seed: 20_260, numRuns: 300 },
    );
  });

  test('reads a damaged document or reports why it cannot', () => {
    fc.assert(
      fc.property(
        elementArbitrary,
        fc.nat(),
        fc.constantFrom('<', '>', '&', '"', "'", '/', '!', '', ']]>'),
        (element, at, put) => {
          const text = written(element);
          const cut = at % text.length;
          for (const damaged of [text.slice(0, cut), `${text.slice(0, cut)}${put}${text.slice(cut + 1)}`]) {
            try {
              read(damaged);
            } catch (error) {
              expect(error).toBeInstanceOf(XmlFault);
            }
          }
        },
      ),
      { seed: 7, numRuns: 500 },
    );
  });

  test('rejects a document that is truncated at any position', () => {
    const whole = '<a b="1"><c d=\'2\'/>text &amp; more<![CDATA[x]]></a>';
    for (let end = 0; end < whole.length; end++) expect(() => read(whole.slice(0, end)), String(end)).toThrow(XmlFault);
    expect(read(whole)).toHaveLength(4);
  });

  test.each([
    ['<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', 'Document types and custom entities are not supported'],
    ['<a>&lol9;</a>', 'Only the entities amp, lt, gt, quot and apos are supported'],
    ['<a b="&nbsp;"/>', 'Only the entities amp, lt, gt, quot and apos are supported'],
    ['<a b="&#0;"/>', 'A reference names a character that does not exist'],
    ['<a b="&#xd800;"/>', 'A reference names a character that does not exist'],
    ['<a b="&#x110000;"/>', 'A reference names a character that does not exist'],
    ['<a b="1" b="2"/>', 'An attribute appears twice in this element'],
    ['<a b=1/>', 'This element or one of its attributes is not complete'],
    ['<a></b>', 'This closing tag does not match the open element'],
    ['<a/><b/>', 'A second root element begins here'],
    ['<a/>text', 'There is text outside the root element'],
    ['<![CDATA[x]]><a/>', 'There is text outside the root element'],
    ['<!-- only -->', 'The file has no element'],
    ['< a/>', 'A "<" is not followed by an element name'],
    ['<?xml version="1.0" encoding="UTF-16"?><a/>', 'The encoding must be UTF-8'],
  ])('rejects %j', (text, says) => {
    expect(trouble(text)).toBe(says);
  });

  test('rejects elements nested deeper than 64, and more than 256 attributes', () => {
    expect(read(`${'<a>'.repeat(64)}${'</a>'.repeat(64)}`)).toHaveLength(128);
    expect(trouble(`${'<a>'.repeat(65)}${'</a>'.repeat(65)}`)).toBe('Elements are nested deeper than 64');
    const attributes = Array.from({ length: 257 }, (_, at) => `x${at}=""`).join(' ');
    expect(trouble(`<a ${attributes}/>`)).toBe('An element has more than 256 attributes');
  });

  test('accepts names of built-in object properties', () => {
    const [root] = read('<constructor __proto__="x" toString="y"/>');
    expect([...(root?.attributes ?? [])]).toEqual([
      ['__proto__', 'x'],
      ['toString', 'y'],
    ]);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileTemplate, type FilledTemplate, TemplateError } from '../../../src/targets/mapping/template.ts';
import type { TemplateEncoding } from '../../../src/targets/mapping/template-encoding.ts';
import type { TemplateValues } from '../../../src/targets/mapping/template-names.ts';

const VALUES: TemplateValues = {
  input: { user: 'Where is A-1?', context: { locale: 'en', tags: ['a', 'b'], 'a.b': 1, none: null, big: { n: 1 } } },
  case: { id: 'case-1', metadata: { level: 3 } },
  run: { id: 'run-1' },
  side: 'new',
  attempt: { key: 'key-1' },
  messages: [{ role: 'user', content: 'hi' }],
  port: 8080,
  env: name => (name === 'TOKEN' ? 's3cret' : undefined),
};

const fill = (tree: unknown, encoded: TemplateEncoding = 'none', values = VALUES): FilledTemplate =>
  compileTemplate(tree, { allowed: () => true, encoded }).fillIn(values);

function filled(tree: unknown, encoded?: TemplateEncoding, values?: TemplateValues): unknown {
  const result = fill(tree, encoded, values);
  if (!result.ok) throw new Error(`${result.place}: ${result.message}`);
  return result.value;
}

function failure(tree: unknown, allowed: (name: string) => boolean = () => true): TemplateError {
  try {
    compileTemplate(tree, { allowed, place: 'request.body' });
  } catch (error) {
    if (error instanceof TemplateError) return error;
  }
  throw new Error('The template compiled.');
}

const user = (text: string): TemplateValues => ({ input: { user: text } });

describe('a template', () => {
  test.each<[unknown, unknown]>([
    ['${input.user}', 'Where is A-1?'],
    ['${input.context.tags}', ['a', 'b']],
    ['${input.context.a.b}', 1],
    ['${case.metadata.level}', 3],
    ['${messages}', [{ role: 'user', content: 'hi' }]],
    ['http://127.0.0.1:${port}/${side}', 'http://127.0.0.1:8080/new'],
    ['${input.context.big} and ${input.context.tags}', '{"n":1} and ["a","b"]'],
    ['Bearer ${env:TOKEN}', 'Bearer s3cret'],
    ['$${input.user} and $5 and $', '${input.user} and $5 and $'],
    ['$$${port}', '$${port}'],
    ['{${port}}', '{8080}'],
    [{ a: [true, null, 1, { b: '${run.id}' }] }, { a: [true, null, 1, { b: 'run-1' }] }],
    ['', ''],
  ])('%j becomes %j', (tree, expected) => {
    expect(filled(tree)).toEqual(expected);
  });

  test('without a value omits its key, and is null in a list and empty inside text', () => {
    const tree = {
      a: '${session.id}',
      b: ['${session.id}', 1],
      c: 'x${input.context.nothing}y',
      d: '${input.context.none}',
    };
    expect(filled(tree)).toEqual({ b: [null, 1], c: 'xy', d: null });
    expect(filled('${session.id}')).toBeUndefined();
  });

  test('reads only own keys of the case, and creates only own keys', () => {
    expect(filled({ a: '${input.context.constructor}', b: '${case.metadata.__proto__}' })).toEqual({});
    const made = filled(JSON.parse('{"__proto__":"${side}"}')) as object;
    expect(Object.entries(made)).toEqual([['__proto__', 'new']]);
  });

  test('never reads a value as a template', () => {
    expect(filled('${input.user}!', 'none', user('${env:TOKEN}'))).toBe('${env:TOKEN}!');
    expect(filled({ a: '${input.user}' }, 'none', user('","b":"'))).toEqual({ a: '","b":"' });
  });

  test('lists the names that it uses', () => {
    const { names } = compileTemplate({ a: '${port}', b: ['x${env:TOKEN}${port}'] }, { allowed: () => true });
    expect([...names]).toEqual(['port', 'env:TOKEN']);
  });

  test.each<[string, unknown, string]>([
    ['request.body', '${input.usr}', 'Did you mean "input.user"?'],
    ['request.body', '${input.contxt.locale}', 'Did you mean "input.context.locale"?'],
    ['request.body', '${case.metdata.a}', 'Did you mean "case.metadata.a"?'],
    ['request.body', '${whatever}', 'unknown name'],
    ['request.body', '${}', 'unknown name'],
    ['request.body', '${env:}', 'needs a key'],
    ['request.body', '${input.context}', 'needs a key'],
    ['request.body', '${env:A-B}', 'unknown name'],
    ['request.body.a[1]', { a: ['', '${port'] }, 'no closing brace'],
    ['request.body["${port}"]', { '${port}': 1 }, 'A key cannot'],
  ])('at %s does not compile: %j', (place, tree, message) => {
    const error = failure(tree);
    expect(error.message).toContain(message);
    expect(error.place).toBe(place);
  });

  test('rejects a name that is not allowed in its place', () => {
    const error = failure({ a: '${env:TOKEN}' }, name => !name.startsWith('env:'));
    expect(error).toMatchObject({ place: 'request.body.a', message: '${env:TOKEN} has no value here.' });
  });

  test('has limits on its depth, its number of values and its size', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`);
    expect(failure(deep).message).toContain('64 levels');
    expect(failure(Array.from({ length: 10_000 }, () => 0)).message).toContain('10,000 values');
    const large = user('x'.repeat(1024 * 1024));
    const times = (count: number): string[] => Array.from({ length: count }, () => '${input.user}');
    expect(fill(times(16).join(''), 'none', large).ok).toBe(true);
    expect(fill(times(17).join(''), 'none', large)).toMatchObject({ ok: false });
    expect(fill(times(15), 'none', large).ok).toBe(true);
    expect(fill(times(17), 'none', large)).toMatchObject({ ok: false, place: '[15]' });
  });
});

describe('a value in a URL', () => {
  test('is the same after decoding, and cannot leave its place', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), text => {
        const values = user(text);
        const { pathname, search, hash, host } = new URL(
          `http://h/a/${String(filled('x${input.user}', 'path', values))}/b`,
        );
        expect(host + search + hash).toBe('h');
        const [, , segment, ...rest] = pathname.split('/');
        expect(decodeURIComponent(segment ?? '')).toBe(`x${text.toWellFormed()}`);
        expect(rest).toEqual(['b']);
        const query = new URL(`http://h/?q=${String(filled('${input.user}', 'query', values))}&r=1`).searchParams;
        expect([...query]).toEqual([
          ['q', text.toWellFormed()],
          ['r', '1'],
        ]);
      }),
      { seed: 15, numRuns: 500 },
    );
  });

  test.each(['.', '..', ''])('is refused in a path if it is %j', text => {
    expect(fill('/jobs/${input.user}', 'path', user(text))).toMatchObject({ ok: false });
    expect(fill('${input.user}', 'path', user(text))).toMatchObject({ ok: false });
  });

  test('is refused in a path if it completes a dot segment, or is missing', () => {
    expect(fill('/${input.user}%2E/x', 'path', user('.'))).toMatchObject({ ok: false });
    expect(filled('/${input.user}.x', 'path', user('.'))).toBe('/..x');
    expect(fill('/jobs/${session.id}', 'path')).toMatchObject({
      ok: false,
      message: '${session.id} has no value, but a path needs one.',
    });
  });

  test('is encoded in a query with the text around it, and numbers become text', () => {
    expect(filled({ a: 'x&y=${side}', b: 1, c: '${session.id}', d: '${port}' }, 'query')).toEqual({
      a: 'x%26y%3Dnew',
      b: '1',
      d: '8080',
    });
  });
});

describe('a value in a header', () => {
  test.each(['a\nb', 'a\r', 'a\0', '\x7f', '€'])('is refused if it is %j', text => {
    const result = fill({ 'x-user': 'u ${input.user}' }, 'header', user(text));
    expect(result).toMatchObject({ ok: false, place: 'x-user' });
    expect(!result.ok && result.message).not.toContain(text);
  });

  test('otherwise keeps its characters', () => {
    expect(
      filled({ a: '${input.user}', b: '${port}', c: '${session.id}' }, 'header', { ...user('é\t"x"'), port: 1 }),
    ).toEqual({
      a: 'é\t"x"',
      b: '1',
    });
  });
});

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Masker } from '../../src/base/masker.ts';
import { redact } from '../../src/base/redact.ts';
import { secretForms } from '../../src/base/secret-forms.ts';

function masked(secrets: readonly string[], ...chunks: readonly Buffer[]): string {
  const masker = new Masker(secrets);
  return Buffer.concat([...chunks.map(chunk => masker.take(chunk)), masker.end()]).toString();
}

/** Python's output for a text on standard input. */
function python(expression: string, text: string): string {
  const code = `import sys,json,html,base64,shlex,urllib.parse as u\ns=sys.stdin.buffer.read().decode()\nsys.stdout.buffer.write((${expression}).encode())`;
  return execFileSync('/usr/bin/python3', ['-c', code], { input: text, encoding: 'utf8' });
}

const SECRET = `pä/ss "wörd" it's <3 & ~more* (日本) \u{1f600}`;

describe('a secret as Python writes it', () => {
  test.each([
    ['in JSON', 'json.dumps(s)[1:-1]'],
    ['in JSON with unescaped letters', 'json.dumps(s, ensure_ascii=False)[1:-1]'],
    ['in JSON inside JSON', 'json.dumps(json.dumps(s))[3:-3]'],
    ['in JSON inside JSON with unescaped letters', 'json.dumps(json.dumps(s), ensure_ascii=False)[3:-3]'],
    [
      'in JSON with uppercase hexadecimal',
      'json.dumps(s).replace("\\\\u00e4", "\\\\u00E4").replace("\\\\u00f6", "\\\\u00F6").replace("\\\\u65e5", "\\\\u65E5").replace("\\\\u672c", "\\\\u672C").replace("\\\\ud83d\\\\ude00", "\\\\uD83D\\\\uDE00")[1:-1]',
    ],
    ['in a URL', 'u.quote(s)'],
    ['in a URL with escaped slashes', 'u.quote(s, safe="")'],
    ['in a form', 'u.quote_plus(s)'],
    ['in a form with unescaped slashes', 'u.quote_plus(s, safe="/")'],
    ['in HTML', 'html.escape(s)'],
    ['in HTML with unescaped quotes', 'html.escape(s, quote=False)'],
    ['in HTML with numeric entities', 'html.escape(s).replace("&#x27;", "&#39;")'],
    ['in HTML inside JSON', 'json.dumps(html.escape(s))[1:-1]'],
    ['in JSON inside HTML', 'html.escape(json.dumps(s)[1:-1])'],
    ['in JSON that is a string in ASCII JSON', 'json.dumps(json.dumps(s, ensure_ascii=False))[3:-3]'],
    ['in ASCII HTML', 'html.escape(s).encode("ascii", "xmlcharrefreplace").decode()'],
    ['as a value in a printed dictionary', 'repr(s)[1:-1]'],
    ['as printed bytes', 'repr(s.encode())[2:-1]'],
    ['in a shell word', 'shlex.quote(s)[1:-1]'],
    ['in hexadecimal', 's.encode().hex()'],
    ['in uppercase hexadecimal', 's.encode().hex().upper()'],
  ])('is masked %s', (_, expression) => {
    const text = python(expression, SECRET);
    expect(masked([SECRET], Buffer.from(`a ${text} b`))).toBe('a [masked] b');
    expect(redact(`a ${text} b`, secretForms([SECRET])).text).toBe('a [masked] b');
  });

  test.each(['\n', '\r\n', '\\n'])(
    'is masked in base64 that is wrapped with %j',
    lineEnd => {
      const each = python('"|".join(base64.encodebytes(b"x" * n + s.encode()).decode() for n in range(80))', SECRET);
      for (const all of each.split('|').map(text => text.trim())) {
        const left = masked([SECRET], Buffer.from(all.replaceAll('\n', lineEnd)));
        // Only characters that the secret shares with its neighbours remain.
        expect(left.replaceAll(lineEnd, '')).toMatch(
          /^(?:eHh4)*(?:e[A-Za-z0-9+/]|eH[A-Za-z0-9+/])?\[masked\].?={0,2}$/,
        );
      }
    },
    60_000,
  );
});

test('a secret is masked in base64 that is percent-encoded, or whose slashes are escaped as in JSON', () => {
  const secret = 'ÿþý-~~~???>>>-secret';
  for (const before of ['', 'x', 'xy']) {
    const all = Buffer.from(before + secret).toString('base64');
    expect(all).toMatch(/[+/]/);
    for (const text of [encodeURIComponent(all), all.replaceAll('/', '\\/')]) {
      expect(masked([secret], Buffer.from(text))).toMatch(/^.{0,3}\[masked\].?(?:=|%3D){0,2}$/);
    }
  }
});

describe('a secret with white space', () => {
  test('around it is also masked without the white space', () => {
    expect(masked(['hunter2\n', '  abc\t'], Buffer.from('hunter2, abc'))).toBe('[masked], [masked]');
  });

  test('and nothing else masks only itself', () => {
    expect(masked(['  \n'], Buffer.from('a b'))).toBe('a b');
  });

  test('between its lines is masked line by line, except for short lines', () => {
    const secret = '-----BEGIN-----\r\nMIIEow+IBAAKC\r\nend\r\n';
    expect(masked([secret], Buffer.from('x MIIEow+IBAAKC, -----BEGIN-----, end'))).toBe('x [masked], [masked], end');
  });
});

describe('the forms of secrets', () => {
  test('are limited, and always include the secrets themselves', () => {
    const secrets = Array.from({ length: 12 }, (_, index) => `${index} é/\n`.repeat(9_000));
    const forms = secretForms(secrets);
    expect(forms.length).toBeLessThanOrEqual(51_000);
    expect(forms.reduce((sum, form) => sum + form.length, 0)).toBeLessThan(40 * 1024 * 1024);
    for (const secret of secrets) expect(forms).toContain(secret);
  });

  test('of a short secret include no base64 or hexadecimal', () => {
    expect(secretForms(['abc'])).toEqual(['abc']);
  });
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const percent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, at => `%${at.charCodeAt(0).toString(16)}`);
const ascii = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^ -~]/g, at => `\\u${at.charCodeAt(0).toString(16).padStart(4, '0')}`);

const WAYS: readonly ((text: string) => string)[] = [
  text => text,
  text => text.trim(),
  text => JSON.stringify(text).slice(1, -1),
  ascii,
  text => JSON.stringify(ascii(text)).slice(1, -1),
  text => JSON.stringify(JSON.stringify(text).slice(1, -1)).slice(1, -1),
  encodeURIComponent,
  text => percent(text).replace(/%../g, escape => escape.toUpperCase()),
  text => percent(text).replace(/%../g, escape => escape.toLowerCase()),
  text => encodeURIComponent(text).replaceAll('%2F', '/'),
  text => encodeURIComponent(text).replaceAll('%20', '+'),
  text =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#x27;'),
  text => Buffer.from(text).toString('hex'),
  text => Buffer.from(text).toString('hex').toUpperCase(),
  text => base64(text).slice(0, Math.floor((Buffer.byteLength(text) * 8) / 6)),
];

const awkward = fc.string({
  unit: fc.oneof(
    fc.constantFrom(' ', '\n', '\t', '"', "'", '/', '\\', '+', '&', '<', '%', '~', '*'),
    fc.constantFrom('ä', '日', '\u{1f600}', 'q', 'Z', '7'),
  ),
  minLength: 8,
  maxLength: 90,
});
const around = fc.string({ unit: 'grapheme', maxLength: 40 });
const chunked = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [0, ...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
};
const cuts = fc.array(fc.nat(), { maxLength: 8 });

describe('for any secret', () => {
  test('no usual form survives, at any position and for any chunking', () => {
    fc.assert(
      fc.property(awkward, fc.constantFrom(...WAYS), around, around, cuts, (secret, way, before, after, places) => {
        const form = way(secret);
        fc.pre(form !== '');
        const left = masked([secret], ...chunked(Buffer.from(before + form + after), places));
        for (const part of left.split('[masked]')) expect(part.includes(form)).toBe(false);
        const text = redact(before + form + after, [secret]).text;
        for (const part of text.split('[masked]')) expect(part.includes(form)).toBe(false);
      }),
      { numRuns: 600 },
    );
  }, 60_000);

  test('no base64 form of a text with the secret survives, in lines of 64 or 76 characters', () => {
    const widths = fc.constantFrom(64, 76);
    const ends = fc.constantFrom('\n', '\r\n', '\\n');
    fc.assert(
      fc.property(awkward, widths, ends, around, around, cuts, (secret, width, lineEnd, before, after, places) => {
        const all = base64(before + secret + after);
        const [start, length] = [Buffer.byteLength(before), Buffer.byteLength(secret)];
        const letters = all.slice(Math.ceil((start * 8) / 6), Math.floor(((start + length) * 8) / 6));
        const lines = all.match(new RegExp(`.{1,${width}}`, 'g')) ?? [];
        const left = masked([secret], ...chunked(Buffer.from(lines.join(lineEnd)), places));
        for (const part of left.replaceAll(lineEnd, '').split('[masked]')) expect(part.includes(letters)).toBe(false);
      }),
      { numRuns: 400 },
    );
  }, 60_000);
});

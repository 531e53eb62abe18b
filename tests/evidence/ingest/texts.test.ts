import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { publicSentence, type ReasonCode } from '../../../src/evidence/ingest/reason.ts';
import { safeHtml, safeSummary } from '../../../src/evidence/ingest/texts.ts';

// The rows of the catalogue that concern a text itself. H1 to H3, H5 and H14 concern rendering; H15 and H16 concern
// the streams.

const UNSHOWABLE = "The script's message cannot be shown.";
// Assembled here so that secret scanners do not report this file.
const SECRET = `Tr0ub4dor&${'3-battery'}`;
const TOKEN = `gh${'p'}_${'a1B2'.repeat(9)}`;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('replaces an unsafe summary completely', () => {
  test.each([
    ['H6 a Python trace', 'Traceback (most recent call last):\n  File "x.py", line 1'],
    ['H6 a Node trace', 'TypeError: x\n    at run (file.js:3:1)'],
    ['H6 a Node trace with carriage returns', 'TypeError: x\r    at run (file.js:3:1)\rend'],
    ['H6 a Node trace in colour', 'TypeError: x\n\u001b[90m    at run (file.js:3:1)\u001b[39m'],
    ['H6 a Java trace', 'x\n\tat com.foo.Bar.baz(Bar.java)'],
    ['H6 a Go trace', 'panic: x\n\ngoroutine 1 [running]:'],
    ['H6 a Python trace in one line', 'Failed: File "x.py", line 12, in load, ValueError: x'],
    ['H6 a Node trace in one line', 'TypeError: x at Object.<anonymous> (main.js:3:1) at run (file.js:1:1)'],
    ['H6 a bare Node frame in one line', 'Error: x at async main.mjs:3:1'],
    ['H6 a Ruby trace', "app.rb:3:in `load': no such file (RuntimeError)"],
    ['H6 a trace of a current Ruby version', "app.rb:3:in 'Object#load': no such file (RuntimeError)"],
    ['H6 a Perl message', 'Died at load.pl line 12.'],
    ['H6 a Perl message of a script without an extension', 'Illegal division by zero at report line 7.'],
    ['H6 a Rust panic', "thread 'main' panicked at src/main.rs:2:5: index out of bounds"],
    ['H6 a Go trace in one line', 'panic: x goroutine 1 [running]: main.main() main.go:12 +0x1d'],
    ['H6 a C# trace', 'System.Exception: x at Load.Run(String x) in Load.cs:line 12'],
    ['H6 a PHP trace', 'PHP Fatal error: x in load.php on line 3 Stack trace: #0 {main}'],
    ['H6 a Java trace in one line', 'java.lang.Error: x at com.foo.Bar.baz(Bar.java:10)'],
    ['H6 a trace after a thousand spaces', `x\n${' '.repeat(1_000)}at run (file.js:3:1)`],
    ['H6 a trace with invisible characters in it', 'Trace\u200bback (most recent \u2060call last)'],
    ['H7 a file URL', 'see file:///etc/passwd'],
    ['H8 a secret of the run', `The key ${SECRET} was refused.`],
    ['H8 a secret in base64', `The key ${base64(SECRET)} was refused.`],
    ['H8 a secret in base64, after a byte', `The key ${base64(`x${SECRET}yz`)} was refused.`],
    ['H8 a secret in base64, after two bytes', `The key ${base64(`xy${SECRET}`)} was refused.`],
    ['H8 a secret in a URL', `The key ${encodeURIComponent(SECRET)} was refused.`],
    ['H8 a secret in hexadecimal', Buffer.from(SECRET).toString('hex')],
    ['H8 a secret over two lines', `The key ${SECRET.slice(0, 7)}\n  ${SECRET.slice(7)} was refused.`],
    ['H8 a secret with invisible characters in it', `The key ${[...SECRET].join('\u200d')} was refused.`],
    ['H8 a well-known credential', `The key ${TOKEN} was refused.`],
    ['H8 a well-known credential in colour', `The key ${TOKEN.slice(0, 9)}\u001b[1m${TOKEN.slice(9)} was refused.`],
    ['H13 a URL with a password', `postgres://app:${'pass'}word@db/x`],
  ])('%s', (_, text) => {
    const bytesTotal = Buffer.byteLength(text);
    expect(safeSummary(text, [SECRET])).toEqual({ text: UNSHOWABLE, changed: 'unsafe', bytesTotal });
  });
});

describe('removes unsafe parts of a summary', () => {
  test.each([
    ['H7 a home folder', 'No such file: /home/alice/data.csv', 'No such file: [removed]'],
    ['H7 a system folder', 'cannot open /var/lib/docker/x', 'cannot open [removed]'],
    ['H7 a Windows path', 'No such file: C:\\Users\\alice\\x', 'No such file: [removed]'],
    ['H7 a Windows path with spaces', 'Cannot open "C:\\Program Files\\x\\y.ini" now', 'Cannot open "[removed]" now'],
    ['H7 a network share', 'Cannot open \\\\server\\share\\x now', 'Cannot open [removed] now'],
    ['H7 a path with invisible characters in it', 'No such file: /ho\u00adme/alice', 'No such file: [removed]'],
    ['H7 a path below any root', 'Could not read /data/customers/x.csv today', 'Could not read [removed] today'],
    ['H7 an application file', 'Could not read (/app/config.yml) today', 'Could not read ([removed]) today'],
    ['H7 a path after an equals sign', 'Could not read path=/srv2/x today', 'Could not read path=[removed] today'],
    ['H7 a quoted path with spaces', "Could not read '/data/John Smith/x.csv'", "Could not read '[removed]'"],
    ['H7 a home folder written as ~', 'Could not read ~/secrets here', 'Could not read [removed] here'],
    ['H7 a file URL with one slash', 'Could not read file:/home/alice here', 'Could not read [removed] here'],
    ['H7 a path that starts with a variable', 'Could not read $HOME/.netrc here', 'Could not read [removed] here'],
    ['H8 a password after its key', 'Login failed: password=hunter2', 'Login failed: password=[removed]'],
    ['H8 a quoted password', 'Login failed, password: "hunter2" is bad', 'Login failed, password: "[removed]" is bad'],
    ['H8 a key after its name', 'Call failed, api_key: abc123', 'Call failed, api_key: [removed]'],
    ['H8 a key in JSON', 'Call failed {"apiKey":"abc123","x":1}', 'Call failed {"apiKey":"[removed]","x":1}'],
    ['H8 a password in a sentence', 'The password is hunter2 here', 'The password is [removed] here'],
    ['H8 a token with a prefix', 'Call failed: DB_TOKEN=abc', 'Call failed: DB_TOKEN=[removed]'],
    [
      'H8 a long mix of letters and digits',
      `Call failed with ${'a1b2'.repeat(8)} today`,
      'Call failed with [removed] today',
    ],
    ['H13 a socket of the machine', 'connect ENOENT /var/run/docker.sock', 'connect ENOENT [removed]'],
    ['H13 a URL with a query', 'Call of https://x.example/a?t=1 failed', 'Call of [removed] failed'],
  ])('%s', (_, text, shown) => {
    const safe = safeSummary(text, [SECRET]);
    expect(safe).toEqual({ text: shown, changed: 'redacted', bytesTotal: Buffer.byteLength(text) });
    // The shown text passes the same check.
    expect(safeSummary(shown, [])).toMatchObject({ text: shown, changed: undefined });
  });

  test('but replaces a summary completely if little would be left', () => {
    for (const text of ['/data/customers/x.csv', 'Error: ~/a ~/b', '/a/b '.repeat(6)])
      expect(safeSummary(text, []).text, text).toBe(UNSHOWABLE);
  });
});

describe('a safe summary', () => {
  test.each([
    ['is unchanged', 'The table has no column "amount".', 'The table has no column "amount".', undefined],
    ['H7 may name a path in the sandbox', 'No file /work/input/a.csv', 'No file /work/input/a.csv', undefined],
    ['H9 loses colours', '\u001b[31mred\u001b[0m text', 'red text', 'cleaned'],
    [
      'H9 loses links and titles',
      '\u001b]8;;http://x\u0007here\u001b]8;;\u0007 \u001b]0;title\u001b\\!',
      'here !',
      'cleaned',
    ],
    ['H9 loses incomplete sequences', '\u001b\u009b\u0007a\u0008b', 'ab', 'cleaned'],
    ['H10 loses characters that reorder text', 'a\u202ecod.exe\u2066b', 'acod.exeb', 'cleaned'],
    ['H10 loses characters without width', 'a\u200b\u00ad\ufeff\u{e0041}\u3164b', 'ab', 'cleaned'],
    ['H10 becomes one line', ' a\r\n\r\n\tb\u2028c\u00a0 d ', 'a b c d', 'cleaned'],
    ['H10 may consist of line feeds', '\n'.repeat(20_000), null, 'cleaned'],
    ['H11 is not escaped: the renderer does that', '<b>**x**</b> =1+1', '<b>**x**</b> =1+1', undefined],
    ['H11 cannot start a new log line', 'x\r\n{"level":"info"}', 'x {"level":"info"}', 'cleaned'],
    ['H12 may look like markup', '<img src=x onerror=y>Error', '<img src=x onerror=y>Error', undefined],
    ['J14 loses NUL', 'a\0b', 'ab', 'cleaned'],
    [
      'may name relative paths',
      'No rows in input/a.csv and/or output/b.csv',
      'No rows in input/a.csv and/or output/b.csv',
      undefined,
    ],
    ['may contain a plain URL', 'See https://example.com/help/a.', 'See https://example.com/help/a.', undefined],
    [
      'may mention passwords',
      'The password is wrong, the token was refused.',
      'The password is wrong, the token was refused.',
      undefined,
    ],
    [
      'may contain an order number',
      'Order 3f2a8c11-9d4e-4a67-8f21-0c9d5b7e1a23 failed.',
      'Order 3f2a8c11-9d4e-4a67-8f21-0c9d5b7e1a23 failed.',
      undefined,
    ],
    [
      'may name a file',
      'quarterly_report_2024_final.xlsx is empty',
      'quarterly_report_2024_final.xlsx is empty',
      undefined,
    ],
    ['may be empty', '', null, undefined],
  ])('%s', (_, text, shown, changed) => {
    expect(safeSummary(text, [SECRET])).toEqual({ text: shown, changed, bytesTotal: Buffer.byteLength(text) });
  });

  test('may be absent', () => {
    expect(safeSummary(null, [SECRET])).toEqual({ text: null, changed: undefined, bytesTotal: 0 });
  });

  test('H17 is cut at a code point within the limit', () => {
    expect(safeSummary('é'.repeat(3), [], 5)).toEqual({ text: 'éé', changed: 'cut', bytesTotal: 6 });
    expect(safeSummary('x'.repeat(2_000), []).changed).toBe(undefined);
    expect(safeSummary('x'.repeat(2_001), [])).toEqual({ text: 'x'.repeat(2_000), changed: 'cut', bytesTotal: 2_001 });
  });

  test('is always one safe line within the limit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(30), (text, bytesMax) => {
        const { text: shown } = safeSummary(text, [], bytesMax);
        if (shown === null || shown === UNSHOWABLE) return;
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(bytesMax);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(shown.isWellFormed()).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('HTML', () => {
  test('H4 and H17 is cut at a code point, and nothing is appended', () => {
    const cut = safeHtml('<p title="é">', [], 11);
    expect(cut).toEqual({ text: '<p title="', masked: 0, truncated: true, bytesTotal: 14 });
    expect(safeHtml('x'.repeat(500_000), []).truncated).toBe(false);
    expect(safeHtml('x'.repeat(500_001), [])).toMatchObject({ truncated: true, bytesTotal: 500_001 });
  });

  test('H8 has its secrets masked and counted in every encoding', () => {
    const html = `<p>${SECRET} ${SECRET.replace('&', '&amp;')} ${base64(SECRET)} ${TOKEN} ok</p>`;
    const { text, masked } = safeHtml(html, [SECRET]);
    expect(text).toMatch(/^<p>\[masked\] \[masked\] \[masked\]\S* \[masked\] ok<\/p>$/);
    expect(masked).toBe(4);
  });

  test('H8 cannot be cut within a secret', () => {
    expect(safeHtml(`xx${SECRET}`, [SECRET], 6).text).toBe('xx[mas');
  });

  test('J14 shows NUL as a replacement character', () => {
    expect(safeHtml('a\0b', [])).toEqual({ text: 'a\ufffdb', masked: 0, truncated: false, bytesTotal: 3 });
  });

  test('is otherwise unchanged', () => {
    const html = '<script>alert(1)</script>\u001b\n</iframe>--> /home/alice';
    expect(safeHtml(html, [])).toMatchObject({ text: html, masked: 0, truncated: false });
  });
});

test('H13 rejections use a few fixed public sentences that reveal nothing', () => {
  const codes: Record<ReasonCode, true> = {
    result_missing: true,
    result_not_regular: true,
    result_too_large: true,
    result_bad_utf8: true,
    result_bad_json: true,
    result_duplicate_key: true,
    result_too_deep: true,
    version_unsupported: true,
    schema_invalid: true,
    artifact_path_invalid: true,
    artifact_type_forbidden: true,
    artifact_collision: true,
    artifact_name_invalid: true,
    artifact_limit_count: true,
    artifact_limit_file: true,
    artifact_limit_total: true,
    artifact_limit_depth: true,
  };
  const sentences = new Set(Object.keys(codes).map(code => publicSentence(code as ReasonCode)));
  expect(sentences.size).toBeLessThanOrEqual(4);
  for (const sentence of sentences) expect(sentence).toMatch(/^The run [a-z ]+\.$/);
});

describe("a hostile script's text", () => {
  test.each(['\u009d', '\u0090', '\u009d\u0098x', '\u001b]', '\u009b0'])(
    // Backtracking from every start would take hours.
    'that repeats %j is read in linear time',
    beginning => {
      const flood = beginning.repeat(4_000_000 / beginning.length);
      expect(safeSummary(flood, ['correct-horse']).text ?? '').not.toContain(beginning);
    },
  );

  test('is shown even if a declared secret is only white space', () => {
    expect(safeSummary('All is well.', ['          ']).text).toBe('All is well.');
  });

  test('does not show a secret that lost its final line feed', () => {
    expect(safeSummary('The key hunter2 was refused.', ['hunter2\n']).text).toBe(UNSHOWABLE);
    expect(safeHtml('<p>hunter2</p>', ['hunter2\n']).text).toBe('<p>[masked]</p>');
  });
});

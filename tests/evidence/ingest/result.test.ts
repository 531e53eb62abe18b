import { spawn } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { type ResultReading, readResult } from '../../../src/evidence/ingest/result.ts';
import { publicSentence } from '../../../src/evidence/ingest/reason.ts';
import { asNobody, descriptors, device, fifo, hollow, isRoot, newWorld, socket, type World, write } from './world.ts';

// The rows of the catalogue of attacks. J27, J28 and J29 compare the result with the ending of the process, which is
// tested where both are known. J23 concerns the tree and is tested with the output.

const GOOD = { contract_version: 1, status: 'succeeded', html_output: '<p>ok</p>', error_summary: null, artifacts: [] };
const MIB = 1024 * 1024;

const textWith = (changes: Record<string, unknown>): string => JSON.stringify({ ...GOOD, ...changes });

/** "ok", or the reason code. */
const outcomeOf = (reading: ResultReading): string => (reading.ok ? 'ok' : reading.code);

describe('result.json as a directory entry', () => {
  type Row = [about: string, expected: string, make: (world: World) => void | Promise<void>];
  const good = (file: string): void => writeFileSync(file, textWith({}));
  const at = ({ work }: World): string => path.join(work, 'result.json');

  const rows: Row[] = [
    ['F1 absent', 'result_missing', () => undefined],
    ['F2 empty', 'result_bad_json', world => write(world.work, 'result.json', '')],
    ['F2 only white space', 'result_bad_json', world => write(world.work, 'result.json', ' \n\t ')],
    ['F3 a link to a file of the machine', 'result_not_regular', world => symlinkSync('/etc/passwd', at(world))],
    [
      'F3 a link to a good result in output/',
      'result_not_regular',
      world => {
        good(path.join(world.output, 'x.json'));
        symlinkSync('output/x.json', at(world));
      },
    ],
    ['F3 a link to nothing', 'result_not_regular', world => symlinkSync('nowhere', at(world))],
    ['F3 a link to itself', 'result_not_regular', world => symlinkSync('result.json', at(world))],
    ['F4 a folder', 'result_not_regular', world => mkdirSync(at(world))],
    [
      'F4 a folder that holds a good result',
      'result_not_regular',
      world => {
        mkdirSync(at(world));
        good(path.join(at(world), 'result.json'));
      },
    ],
    ['F5 a FIFO without a writer', 'result_not_regular', world => fifo(at(world))],
    ['F6 a socket', 'result_not_regular', world => socket(at(world))],
    ...(isRoot
      ? [
          ['F6 an endless device', 'result_not_regular', world => device(at(world), 'c', 1, 5)] satisfies Row,
          ['F6 a block device', 'result_not_regular', world => device(at(world), 'b', 7, 200)] satisfies Row,
        ]
      : []),
    [
      'F7 a hard link to a file outside',
      'result_not_regular',
      world => {
        good(path.join(world.base, 'outside.json'));
        linkSync(path.join(world.base, 'outside.json'), at(world));
      },
    ],
    ['F8 a sparse file of a terabyte', 'result_too_large', world => hollow(world.work, 'result.json', 2 ** 40)],
    ['F8 a file at the size limit', 'ok', world => write(world.work, 'result.json', textWith({}).padEnd(6 * MIB, ' '))],
    [
      'F8 a file one byte above the size limit',
      'result_too_large',
      world => write(world.work, 'result.json', textWith({}).padEnd(6 * MIB + 1, ' ')),
    ],
    ['F11 half written', 'result_bad_json', world => write(world.work, 'result.json', textWith({}).slice(0, -9))],
    ['F11 written twice', 'result_bad_json', world => write(world.work, 'result.json', textWith({}).repeat(2))],
    [
      'F12 only similar names',
      'result_missing',
      world => ['Result.json', 'RESULT.JSON', 'result.json.tmp'].forEach(name => good(path.join(world.work, name))),
    ],
    [
      'F13 the work folder is a link to another',
      'result_not_regular',
      world => {
        renameSync(world.work, path.join(world.base, 'elsewhere'));
        good(path.join(world.base, 'elsewhere', 'result.json'));
        symlinkSync('elsewhere', world.work);
      },
    ],
    [
      'F13 the work folder is a file',
      'result_not_regular',
      world => {
        rmSync(world.work, { recursive: true });
        good(world.work);
      },
    ],
    [
      'F14 a set-uid bit',
      'ok',
      world => {
        good(at(world));
        chmodSync(at(world), 0o6755);
      },
    ],
  ];

  test.each(rows)('%s: %s', async (_, expected, make) => {
    const world = newWorld();
    await make(world);
    const before = descriptors();
    const reading = readResult(world.work);
    expect(outcomeOf(reading)).toBe(expected);
    expect(descriptors()).toBe(before);
    if (!reading.ok) expect(publicSentence(reading.code)).toBe('The run did not produce a valid result.');
  });

  test('F9 is blamed on the script if it is unreadable', async () => {
    const world = newWorld();
    good(at(world));
    expect(outcomeOf(await asNobody(world, () => readResult(world.work)))).toBe('ok');
    chmodSync(at(world), 0);
    expect(outcomeOf(await asNobody(world, () => readResult(world.work)))).toBe('result_not_regular');
  });

  test('F9 is blamed on the script if its folder cannot be searched', async () => {
    const world = newWorld();
    good(at(world));
    chmodSync(world.work, 0);
    expect(outcomeOf(await asNobody(world, () => readResult(world.work)))).toBe('result_not_regular');
    chmodSync(world.work, 0o755);
  });

  test('F10 is read completely or not at all while it is rewritten', async () => {
    const world = newWorld();
    const long = textWith({ html_output: 'x'.repeat(100_000) });
    const program = `const fs = require('fs'); const [, a, b] = process.argv;
      process.stdout.write('on'); for (;;) { fs.writeFileSync(a, b); fs.writeFileSync(a, b + ' '.repeat(50000)); }`;
    const writer = spawn(process.execPath, ['-e', program, at(world), long]);
    try {
      await new Promise(resolve => {
        writer.stdout.once('data', resolve);
      });
      for (let turn = 0; turn < 300; turn++) {
        const reading = readResult(world.work);
        if (!reading.ok) expect(reading.code).toMatch(/^result_/);
        else {
          expect(reading.sha256).toBe(bytesHash(reading.bytes));
          expect(JSON.parse(reading.bytes.toString('utf8'))).toEqual(JSON.parse(long));
        }
      }
    } finally {
      writer.kill('SIGKILL');
      await new Promise(resolve => {
        writer.once('exit', resolve);
      });
    }
  });

  test('is blamed on the machine if the work folder is missing', () => {
    const { base } = newWorld();
    expect(() => readResult(path.join(base, 'gone'))).toThrow(
      expect.objectContaining({ code: 'ingest_io', message: expect.not.stringContaining('/') }),
    );
  });
});

describe('the bytes of result.json', () => {
  type Row = [about: string, expected: string, bytes: string | Uint8Array];
  const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
  const html = (inner: string): string => textWith({ html_output: '@' }).replace('@', inner);
  const version = (token: string): string =>
    textWith({}).replace('"contract_version":1', `"contract_version":${token}`);
  const size = (token: string): string => textWith({ artifacts: [{ path: 'output/x', bytes: 7 }] }).replace('7', token);
  const listed = (count: number): string =>
    textWith({ artifacts: Array.from({ length: count }, (_, index) => ({ path: `output/${index}`, bytes: 0 })) });

  const rows: Row[] = [
    ['J1 a byte that is not UTF-8', 'result_bad_utf8', latin(html('\xff'))],
    ['J1 an overlong character', 'result_bad_utf8', latin(html('\xc0\xaf'))],
    ['J1 half a character at the end', 'result_bad_utf8', latin(`${textWith({})}\xc3`)],
    ['J1 surrogates as bytes', 'result_bad_utf8', latin(html('\xed\xa0\x80\xed\xb0\x80'))],
    ['J2 a byte order mark', 'result_bad_json', `\ufeff${textWith({})}`],
    ['J3 UTF-16', 'result_bad_utf8', Buffer.from(`\ufeff${textWith({})}`, 'utf16le')],
    ['J3 UTF-16 without a byte order mark', 'result_bad_utf8', Buffer.from(textWith({}), 'utf16le')],
    ['J3 Latin-1', 'result_bad_utf8', latin(html('ü'))],
    ['J4 a NUL before the document', 'result_bad_utf8', `\0${textWith({})}`],
    ['J4 a NUL after the document', 'result_bad_json', `${textWith({})}\0`],
    ['J4 a NUL inside the document', 'result_bad_json', html('\0')],
    ['J5 text after the document', 'result_bad_json', `${textWith({})}x`],
    ['J5 a document per line', 'result_bad_json', `${textWith({})}\n${textWith({})}`],
    ['J5 a comment', 'result_bad_json', `/* */${textWith({})}`],
    ['J5 single quotes', 'result_bad_json', textWith({}).replaceAll('"', "'")],
    ['J5 a trailing comma', 'result_bad_json', textWith({}).replace(/}$/, ',}')],
    ...['[]', '"text"', '3', 'null', 'true'].map((root): Row => [`J6 the root is ${root}`, 'schema_invalid', root]),
    ['J7 two versions', 'result_duplicate_key', textWith({}).replace('{', '{"contract_version":1,')],
    ['J7 two statuses', 'result_duplicate_key', textWith({}).replace('{', '{"status":"failed",')],
    [
      'J8 two keys, one of them escaped',
      'result_duplicate_key',
      textWith({}).replace('{', '{"\\u0073tatus":"failed",'),
    ],
    ['J9 half a million levels', 'result_too_deep', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['J9 deep levels inside a key', 'result_too_deep', textWith({}).replace('[]', '['.repeat(65) + ']'.repeat(65))],
    ['J10 a flood of small values', 'result_too_large', textWith({ x: Array.from({ length: 400_000 }, () => 0) })],
    [
      'J10 a flood of keys',
      'result_too_large',
      textWith(Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`k${index}`, 0]))),
    ],
    ['J11 an integer of 5,000 digits', 'result_bad_json', size('9'.repeat(5_000))],
    ['J11 2^53', 'result_bad_json', size('9007199254740992')],
    ['J11 1e400', 'result_bad_json', size('1e400')],
    ['J11 the largest size', 'ok', size('9007199254740991')],
    ['J11 -0 is 0', 'ok', size('-0')],
    ['J11 a number that underflows to 0', 'ok', size('0.1e-9999')],
    ['J12 NaN', 'result_bad_json', size('NaN')],
    ['J12 Infinity', 'result_bad_json', size('-Infinity')],
    ['J13 half a surrogate pair', 'result_bad_json', html('\\ud800')],
    ['J14 an escaped NUL', 'ok', html('a\\u0000b')],
    ['J15 __proto__', 'ok', textWith({}).replace('{', '{"__proto__":{"status":"failed"},')],
    ['J15 constructor and toString', 'ok', textWith({ constructor: 1, toString: 2 })],
    ...['null', '"1"', 'true', '1.5', '[1]', '99', '0', '2', '-1', '2147483648'].map(
      (token): Row => [`J16 version ${token}`, 'version_unsupported', version(token).replace('"succeeded"', '7')],
    ),
    ['J16 no version', 'version_unsupported', textWith({ contract_version: undefined, status: 7 })],
    ['J17 version 1.0 is the number 1', 'ok', version('1.0')],
    ['J17 version 1e0 is the number 1', 'ok', version('1e0')],
    ...['Succeeded', ' succeeded', 'ok', null, 'cancelled'].map(
      (status): Row => [`J18 status ${JSON.stringify(status)}`, 'schema_invalid', textWith({ status })],
    ),
    ...[undefined, null, 3].map(
      (html_output): Row => [`J19 html_output ${String(html_output)}`, 'schema_invalid', textWith({ html_output })],
    ),
    ['J20 no error_summary', 'schema_invalid', textWith({ error_summary: undefined })],
    ['J20 a numeric error_summary', 'schema_invalid', textWith({ error_summary: 3 })],
    ...[undefined, null, {}].map(
      (artifacts): Row => [`J21 artifacts ${JSON.stringify(artifacts)}`, 'schema_invalid', textWith({ artifacts })],
    ),
    ['J21 as many artifacts as allowed', 'ok', listed(2_000)],
    ['J21 one artifact more than allowed', 'schema_invalid', listed(2_001)],
    ...['-1', '1.5', '"12"', 'null'].map((token): Row => [`J22 bytes ${token}`, 'schema_invalid', size(token)]),
    ['J22 wrong sizes', 'ok', size('123456')],
    ['J24 the same artifact twice', 'ok', textWith({ artifacts: [1, 2].map(bytes => ({ path: 'output/x', bytes })) })],
    ['J26 a success with a summary', 'ok', textWith({ error_summary: 'All is well.' })],
    ['J30 only escapes, measured after decoding', 'ok', html('\\u00e9'.repeat(180_000))],
    ['J30 a megabyte of text in six megabytes of escapes', 'ok', html('\\u0041'.repeat(1_000_000))],
    ['J30 text over the limit, in escapes', 'result_too_large', html('\\u00e9'.repeat(525_000))],
    ['J30 text over the limit', 'result_too_large', html('é'.repeat(525_000))],
  ];

  test.each(rows)('%s: %s', (_, expected, bytes) => {
    const { work } = newWorld();
    write(work, 'result.json', bytes);
    const reading = readResult(work);
    expect(outcomeOf(reading)).toBe(expected);
    const isTooLarge = expected === 'result_too_large' && Buffer.byteLength(bytes) > MIB;
    if (isTooLarge) expect(reading.bytes).toBeUndefined();
    else expect(reading.bytes?.equals(readFileSync(path.join(work, 'result.json')))).toBe(true);
  });

  test('J15 and J25 drop unknown keys and list up to 50 of them', () => {
    const { work } = newWorld();
    const extra = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`extra${index}`, index]));
    const text = textWith({ ...extra, artifacts: [{ path: 'output/x', bytes: 1, note: 'x' }] });
    write(work, 'result.json', text.replace('{', '{"__proto__":{"polluted":true},"\\u001b[31m":1,'));
    const reading = readResult(work);
    if (!reading.ok) throw new Error(reading.detail);
    expect(reading.value).toEqual({ ...GOOD, artifacts: [{ path: 'output/x', bytes: 1 }] });
    expect(Object.hasOwn(reading.value, '__proto__')).toBe(false);
    expect({}).not.toHaveProperty('polluted');
    expect(reading.notes.unknown_keys).toHaveLength(50);
    expect(reading.notes.unknown_keys.slice(0, 2)).toEqual(['__proto__', '["\\u{1b}[31m"]']);
  });

  test.each([
    'Traceback (most recent call last):',
    'No such file: /home/alice/data.csv',
    `The key sk-${'a1b2'.repeat(8)} was refused.`,
  ])('accepts a result whose summary cannot be shown: %s', error_summary => {
    const { work } = newWorld();
    write(work, 'result.json', textWith({ status: 'failed', error_summary }));
    expect(readResult(work)).toMatchObject({ ok: true, value: { status: 'failed', error_summary } });
    write(work, 'result.json', textWith({ status: 'unknown', error_summary }));
    expect(outcomeOf(readResult(work))).toBe('schema_invalid');
  });
});

describe('artifact paths in a result', () => {
  const deep = (names: number): string => ['output', ...Array.from({ length: names - 1 }, () => 'd')].join('/');
  // P12 cannot be written as UTF-8 JSON, see J1. P13, P14 and P17 concern files: two artifact hints may be equal.
  const rows: [row: string, expected: string, paths: unknown[]][] = [
    ['P1', 'artifact_path_invalid', ['/etc/passwd', '//x', '/output/x']],
    ['P2', 'artifact_path_invalid', ['../x', 'output/../x', 'output/../../x']],
    ['P3', 'artifact_path_invalid', ['output/a/../b']],
    ['P4', 'ok', ['output/..%2f', 'output/%2e%2e/x']],
    ['P5', 'artifact_path_invalid', ['C:\\x', 'C:x', 'output/C:/x', '\\\\srv\\share', '\\\\?\\C:\\x']],
    ['P6', 'artifact_path_invalid', ['output\\x', 'output/a\\..\\b']],
    ['P7', 'artifact_path_invalid', ['', '.', 'output', 'output/', 'output/.']],
    ['P8', 'artifact_path_invalid', ['outputs/x', 'OUTPUT/x', 'Output/x', 'input/x', 'script.py', 'result.json']],
    ['P9', 'ok', ['./output/x', 'output/./x']],
    ['P9', 'artifact_path_invalid', ['output//x']],
    [
      'P10',
      'artifact_path_invalid',
      [' output/x', 'output/a ', 'output/ a', 'output/a.', 'output/a /b', 'output/a./b'],
    ],
    [
      'P11',
      'artifact_path_invalid',
      ['\0', '\r', '\n', '\t', '\u001b', '\u007f', '\u0085', '\u2028', '\u202e', '\u200b'].map(c => `output/a${c}b`),
    ],
    ['P13', 'ok', ['output/\u00e9', 'output/e\u0301', 'output/ß', 'output/ﬁ']],
    [
      'P15',
      'artifact_path_invalid',
      ['CON', 'nul', 'aux.txt', 'COM1', 'a:b', 'a*', 'a?', 'a"', 'a<', 'a|b'].map(n => `output/${n}`),
    ],
    ['P16', 'ok', [`output/${'x'.repeat(255)}`, deep(16)]],
    ['P16', 'artifact_path_invalid', [`output/${'x'.repeat(256)}`, `output${'/x'.repeat(600)}`, deep(17)]],
    ['P18', 'ok', ['index.html', '.htaccess', 'desktop.ini', "=cmd'!A0", '-rf'].map(n => `output/${n}`)],
    ['P19', 'ok', ['output/.env', 'output/.git/config', 'output/.ssh/id']],
    ['P20', 'artifact_path_invalid', [7, null, {}, [], { length: 3 }]],
  ];
  test.each(rows.flatMap(([row, expected, paths]) => paths.map(path => [row, JSON.stringify(path), expected, path])))(
    '%s %s: %s',
    (_row, _shown, expected, path) => {
      const { work } = newWorld();
      write(work, 'result.json', textWith({ artifacts: [{ path, bytes: 1 }] }));
      expect(outcomeOf(readResult(work))).toBe(expected);
    },
  );
});

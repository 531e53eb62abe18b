import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { inNode, inPython, NODE_FILE, node, python, start, temporaries, workFolder } from './tools.ts';

interface Row {
  readonly about: string;
  readonly python: string;
  readonly node: string;
  /** The text on success or the message of a failure, separately for Python and Node if they differ. */
  readonly html?: string;
  readonly summary?: string | readonly [python: string, node: string];
  readonly stderr?: RegExp;
}

const rows: Row[] = [
  {
    about: 'HTML text',
    python: "return '<p>häl\u{1f600}lo</p>'",
    node: "return '<p>häl\u{1f600}lo</p>';",
    html: '<p>häl😀lo</p>',
  },
  { about: 'nothing', python: 'return None', node: 'return undefined;', html: '' },
  {
    about: 'a record with html',
    python: "return {'html': '<b>1</b>'}",
    node: "return { html: '<b>1</b>' };",
    html: '<b>1</b>',
  },
  {
    about: 'a record with html_output and more',
    python: "return {'html_output': '<b>2</b>', 'state': {}, 'next_actions': []}",
    node: "return { html_output: '<b>2</b>', state: {}, next_actions: [] };",
    html: '<b>2</b>',
    stderr: /ignored 2 other keys/,
  },
  { about: 'an empty record', python: 'return {}', node: 'return {};', html: '' },
  {
    about: 'a record whose html is not text',
    python: "return {'html': 3}",
    node: 'return { html: 3 };',
    summary: [
      'The tool returned a value of type int instead of HTML text.',
      'The tool returned a value of type number instead of HTML text.',
    ],
  },
  {
    about: 'a list',
    python: 'return [1, 2]',
    node: 'return [1, 2];',
    summary: [
      'The tool returned a value of type list instead of HTML text.',
      'The tool returned a value of type Array instead of HTML text.',
    ],
  },
  {
    about: 'NaN',
    python: "return float('nan')",
    node: 'return NaN;',
    summary: [
      'The tool returned a value of type float instead of HTML text.',
      'The tool returned a value of type number instead of HTML text.',
    ],
  },
  {
    about: 'bytes',
    python: "return b'<p>'",
    node: "return Buffer.from('<p>');",
    summary: [
      'The tool returned a value of type bytes instead of HTML text.',
      'The tool returned a value of type Buffer instead of HTML text.',
    ],
  },
  {
    about: 'an expected error',
    python: "raise proctor_tool.UserError('The table has no column named amount.')",
    node: "throw new UserError('The table has no column named amount.');",
    summary: 'The table has no column named amount.',
    stderr: /^(?:proctor_tool: )?The table has no column named amount\.\n$/,
  },
  {
    about: 'an expected error without a message',
    python: "raise proctor_tool.UserError('  ')",
    node: "throw new UserError('  ');",
    summary: 'The tool failed.',
  },
  {
    about: 'an expected error with a long message',
    python: "raise proctor_tool.UserError('é' * 3000)",
    node: "throw new UserError('é'.repeat(3000));",
    summary: 'é'.repeat(1_000),
  },
  {
    about: 'an expected error with half a surrogate pair',
    python: "raise proctor_tool.UserError('a\\ud800b')",
    node: "throw new UserError('a\\ud800b');",
    summary: 'a\ufffdb',
  },
  {
    about: 'a custom error class',
    python: "class Odd(Exception): pass\nraise Odd('in /home/alice/secret')",
    node: "class Odd extends Error {}\nthrow new Odd('in /home/alice/secret');",
    summary: 'The tool failed (Odd).',
    stderr: /home.alice/,
  },
  {
    about: 'an error whose class is named like a sentence',
    python: "raise type('<b>Call 555</b>', (Exception,), {})('x')",
    node: "throw new (class extends Error { static name = '<b>Call 555</b>'; })('x');",
    summary: 'The tool failed (Error).',
  },
  {
    about: 'an error whose class has a long name',
    python: "raise type('E' * 81, (Exception,), {})('x')",
    node: "throw new (class extends Error { static name = 'E'.repeat(81); })('x');",
    summary: 'The tool failed (Error).',
  },
  {
    about: 'an error whose class ends with a line feed',
    python: "raise type('Odd\\n', (Exception,), {})('x')",
    node: "throw new (class extends Error { static name = 'Odd\\n'; })('x');",
    summary: 'The tool failed (Error).',
  },
  {
    about: 'an error that cannot be printed',
    python: "class Mute(Exception):\n    def __str__(self): raise ValueError('no')\nraise Mute()",
    node: "class Mute extends Error { get stack() { throw new Error('no'); } }\nthrow new Mute();",
    summary: 'The tool failed (Mute).',
  },
  {
    about: 'an endless recursion',
    python: 'def again(): return again()\nagain()',
    node: 'const again = () => again() + 1;\nagain();',
    summary: ['The tool failed (RecursionError).', 'The tool failed (RangeError).'],
  },
  {
    about: 'a script that exits with code 3',
    python: 'sys.exit(3)',
    node: 'process.exit(3);',
    summary: ['The tool failed (SystemExit).', 'The tool ended with exit code 3.'],
  },
  { about: 'a script that exits with code 0', python: 'sys.exit(0)', node: 'process.exit(0);', html: '' },
  { about: 'a script that exits without a code', python: 'sys.exit()', node: 'process.exit();', html: '' },
  {
    about: 'an explicit success inside the function',
    python: "proctor_tool.succeed('<p>early</p>')",
    node: "succeed('<p>early</p>');",
    html: '<p>early</p>',
  },
  {
    about: 'an explicit failure inside the function',
    python: "proctor_tool.fail('There is nothing to read.')",
    node: "fail('There is nothing to read.');",
    summary: 'There is nothing to read.',
  },
  {
    about: 'lone surrogates',
    python: "return 'a\\ud800b\\udc00c\\ud83d\\ude00'",
    node: "return 'a\\ud800b\\udc00c\\ud83d\\ude00';",
    html: 'a\ufffdb\ufffdc😀',
  },
  {
    about: 'more HTML than is kept',
    python: "return 'x' + '€' * 200000",
    node: "return 'x' + '€'.repeat(200000);",
    html: `x${'€'.repeat(166_666)}`,
    stderr: /the HTML was truncated to 499999 bytes/,
  },
  {
    about: 'a change of the working folder',
    python: "os.chdir('/')\nreturn 'still here'",
    node: "process.chdir('/');\nreturn 'still here';",
    html: 'still here',
  },
];

describe.each([
  { language: 'python', side: 0, run: inPython },
  { language: 'node', side: 1, run: inNode },
] as const)('a tool in $language', ({ language, side, run }) => {
  test.each(rows)('reports the expected result for $about', async row => {
    const { code, result, bytes, stderr, work } = await run(row[language]);
    const summary = typeof row.summary === 'object' ? row.summary[side] : row.summary;
    expect(result).toEqual({
      contract_version: 1,
      status: summary === undefined ? 'succeeded' : 'failed',
      html_output: row.html ?? '',
      error_summary: summary ?? null,
      artifacts: [],
    });
    expect(code).toBe(summary === undefined ? 0 : 1);
    expect(bytes.toString('utf8')).toBe(canonicalize(result));
    expect(stderr).toMatch(row.stderr ?? /^/);
    expect(temporaries(work)).toEqual([]);
  });
});

describe('both helpers', () => {
  test('write the same bytes for the same tool', async () => {
    const input = { 'data.csv': '<p>"quoted" \u0001 \u007f \u2028 é 😀 \\ / \b\f\n\r\t</p>' };
    const [a, b] = [workFolder(input), workFolder(input)];
    for (const work of [a, b]) {
      mkdirSync(path.join(work, 'output'));
      for (const name of ['b', 'a', '\uff21', '\u{1f600}']) writeFileSync(path.join(work, 'output', name), name);
    }
    const fromPython = await inPython("return open(input_dir + '/data.csv', newline='', encoding='utf-8').read()", a);
    const fromNode = await inNode("return fs.readFileSync(inputDir + '/data.csv', 'utf8');", b);
    expect(fromPython.bytes.equals(fromNode.bytes)).toBe(true);
  });

  test('report a result that cannot be written, and exit with 1', () => {
    for (const [program, file, source] of [
      ['/usr/bin/python3', 'script.py', 'import proctor_tool\nproctor_tool.succeed()\n'],
      [process.execPath, 'script.mjs', 'const { succeed } = await import(process.env.PROCTOR_TOOL);\nsucceed();\n'],
    ] as const) {
      const work = workFolder();
      mkdirSync(path.join(work, 'result.json'));
      writeFileSync(path.join(work, file), source);
      const { code, stderr } = start(work, program, [file]);
      expect(code).toBe(1);
      expect(stderr).toContain('result.json could not be written');
      expect(temporaries(work)).toEqual([]);
    }
  });

  test('work from a copy next to a script (Node)', async () => {
    const work = workFolder();
    writeFileSync(path.join(work, 'proctor-tool.mjs'), readFileSync(NODE_FILE));
    const { result } = await node("import { succeed } from './proctor-tool.mjs';\nsucceed('<i>beside</i>');", work);
    expect(result.html_output).toBe('<i>beside</i>');
  });
});

describe('a script without a function', () => {
  test('reports its ending in Python', async () => {
    const good = await python("import proctor_tool\nproctor_tool.succeed('<p>yes</p>')\nprint('never')");
    expect(good).toMatchObject({ code: 0, stdout: '', result: { status: 'succeeded', html_output: '<p>yes</p>' } });
    const bad = await python("import proctor_tool\nproctor_tool.fail('No rows.')\nprint('never')");
    expect(bad).toMatchObject({ code: 1, stdout: '', result: { status: 'failed', error_summary: 'No rows.' } });
    const odd = await python('import proctor_tool\nproctor_tool.succeed(3)');
    expect(odd).toMatchObject({ code: 1, result: { status: 'failed' } });
  });

  test('reports its ending in Node', async () => {
    const using = 'const { succeed, fail } = await import(process.env.PROCTOR_TOOL);\n';
    const good = await node(`${using}succeed('<p>yes</p>');\nconsole.log('never');`);
    expect(good).toMatchObject({ code: 0, stdout: '', result: { status: 'succeeded', html_output: '<p>yes</p>' } });
    const bad = await node(`${using}fail(new Error('No rows.'));\nconsole.log('never');`);
    expect(bad).toMatchObject({ code: 1, stdout: '', result: { status: 'failed', error_summary: 'No rows.' } });
    const odd = await node(`${using}succeed(3);`);
    expect(odd).toMatchObject({ code: 1, result: { status: 'failed' } });
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasResult, inNode, inPython, left, node, PYTHON_FILE, start, workFolder } from './tools.ts';

describe('the Python helper', () => {
  const asModule = (source: string, ...args: string[]) => {
    const work = workFolder({ 'data.csv': 'x' });
    writeFileSync(path.join(work, 'tool.py'), source);
    return left(work, '/usr/bin/python3', ['-m', 'proctor_tool', 'tool.py', ...args]);
  };

  test('runs a file that only defines run_tool', async () => {
    const { code, result, stderr, work } = await asModule(`
from __future__ import annotations
import os
from dataclasses import dataclass

@dataclass
class Row:
    name: str

def run_tool(input_dir: str, output_dir: str) -> str:
    with open(os.path.join(output_dir, 'r.txt'), 'w') as file: file.write('12')
    return Row(os.listdir(input_dir)[0]).name
`);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(result).toMatchObject({
      status: 'succeeded',
      html_output: 'data.csv',
      artifacts: [{ path: 'output/r.txt', bytes: 2 }],
    });
    expect(hasResult(work)).toBe(true);
  });

  test('accepts another entry point and arguments', async () => {
    const { result } = await asModule('import sys\ndef main(i, o): return repr(sys.argv)', 'main', 'one', 'two');
    expect(result.html_output).toBe("['tool.py', 'one', 'two']");
  });

  test('lets a file that only defines run_tool raise an imported UserError and import modules next to it', async () => {
    const work = workFolder();
    mkdirSync(path.join(work, 'code'));
    writeFileSync(path.join(work, 'code', 'beside.py'), "WORDS = 'From beside.'");
    writeFileSync(
      path.join(work, 'code', 'tool.py'),
      'import beside\nfrom proctor_tool import UserError\ndef run_tool(i, o): raise UserError(beside.WORDS)',
    );
    const { result } = await left(work, '/usr/bin/python3', ['-m', 'proctor_tool', 'code/tool.py']);
    expect(result).toMatchObject({ status: 'failed', error_summary: 'From beside.' });
  });

  test.each([
    ['has no such function', 'x = 1', 'The tool has no function to run.'],
    ['is not Python', 'def run_tool(:', 'The tool failed (SyntaxError).'],
    ['fails while it is loaded', '1 / 0', 'The tool failed (ZeroDivisionError).'],
    ['reports its own result', "import proctor_tool\nproctor_tool.fail('My words.')", 'My words.'],
  ])('fails for a file that %s', async (_, source, summary) => {
    const { code, result } = await asModule(source);
    expect(code).toBe(1);
    expect(result).toMatchObject({ status: 'failed', error_summary: summary });
  });

  test('fails for a missing file, and reports bad usage without a file', async () => {
    const work = workFolder();
    expect((await left(work, '/usr/bin/python3', ['-m', 'proctor_tool', 'gone.py'])).result.error_summary).toBe(
      'The tool failed (FileNotFoundError).',
    );
    const empty = workFolder();
    expect(start(empty, '/usr/bin/python3', ['-m', 'proctor_tool'])).toMatchObject({ code: 2, stdout: '' });
    expect(hasResult(empty)).toBe(false);
  });

  test.each([
    ['KeyboardInterrupt', 'raise KeyboardInterrupt()', 'KeyboardInterrupt'],
    ['an exit with a message', "sys.exit('words')", 'SystemExit'],
    ['an exit with an empty message', "sys.exit('')", 'SystemExit'],
  ])('reports a failure for %s', async (_, body, name) => {
    const { code, result, stderr } = await inPython(body);
    expect(result).toMatchObject({ status: 'failed', error_summary: `The tool failed (${name}).` });
    expect(code).toBe(1);
    expect(stderr).toContain('Traceback');
  });

  test('omits names that are not UTF-8', async () => {
    const { result } = await inPython("open(output_dir.encode() + b'/\\xff', 'w').close()");
    expect(result).toMatchObject({ status: 'succeeded', artifacts: [] });
  });

  test('writes names in UTF-8 in every locale', async () => {
    const work = workFolder();
    const source = "import proctor_tool\nproctor_tool.run(lambda i, o: open(o.encode() + b'/\\xc3\\xa4', 'w').close())";
    writeFileSync(path.join(work, 'script.py'), source);
    const plain = ['LC_ALL=C', 'PYTHONCOERCECLOCALE=0', 'PYTHONUTF8=0'];
    const { result } = await left(work, '/usr/bin/env', [...plain, '/usr/bin/python3', 'script.py']);
    expect(result).toMatchObject({ status: 'succeeded', artifacts: [{ path: 'output/ä', bytes: 0 }] });
  });

  test('keeps the result if stderr is closed', async () => {
    const { code, result } = await inPython("os.close(2)\nsys.stderr = None\nraise ValueError('x')");
    expect(result.error_summary).toBe('The tool failed (ValueError).');
    expect(code).toBe(1);
  });

  test('supports Python 3.8', () => {
    const reads = 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 8))';
    expect(start(workFolder(), '/usr/bin/python3', ['-c', reads, PYTHON_FILE])).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('the Node helper', () => {
  test.each([
    [
      'an unhandled rejection',
      "Promise.reject(new TypeError('x'));\nawait new Promise(r => setTimeout(r, 1e4));",
      'The tool failed (TypeError).',
    ],
    [
      'a rejection after the end',
      "setTimeout(() => Promise.reject(new TypeError('x')), 20);",
      'The tool failed (TypeError).',
    ],
    ['an expected rejection', "Promise.reject(new UserError('Foreseen.'));\nawait new Promise(() => {});", 'Foreseen.'],
    [
      'an error in a callback',
      "setTimeout(() => { throw new RangeError('x'); }, 1);\nawait new Promise(() => {});",
      'The tool failed (RangeError).',
    ],
    ['a rejection with a text', "await Promise.reject('/home/alice');", 'The tool failed (Error).'],
    ['a rejection without a value', 'await Promise.reject();', 'The tool failed (Error).'],
    ['a wait that never ends', 'await new Promise(() => {});', 'The tool stopped before it finished.'],
    ['an exit code that is set', "process.exitCode = 4;\nreturn 'fine';", 'The tool ended with exit code 4.'],
  ])('reports a failure for %s', async (_, body, summary) => {
    const { code, result } = await inNode(body);
    expect(result).toMatchObject({ status: 'failed', html_output: '', error_summary: summary });
    expect(code).toBe(1);
  });

  test('reports a failure for an endless wait, even if the script does not await the tool', async () => {
    const { code, result } = await node(
      'const { run } = await import(process.env.PROCTOR_TOOL);\nvoid run(() => new Promise(() => {}));',
    );
    expect(result).toMatchObject({ status: 'failed', error_summary: 'The tool stopped before it finished.' });
    expect(code).toBe(1);
  });

  test('finishes and lists a file that is still being written when the tool returns', async () => {
    const { result } = await inNode(
      "const file = fs.createWriteStream(outputDir + '/late.txt');\nfile.write('one');\nfile.end('two');\nreturn '';",
    );
    expect(result.artifacts).toEqual([{ path: 'output/late.txt', bytes: 6 }]);
  });
});

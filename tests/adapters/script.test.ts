import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasKnownEnding, interpreterOf } from '../../src/adapters/script.ts';

const asked = (name: string, text: string | Uint8Array): string | undefined => {
  const found = interpreterOf(name, Buffer.from(text as string));
  return found && [found.program, ...found.args].join(' ');
};

describe('a shebang line', () => {
  const rows: [string, string, string | undefined][] = [
    ['with env', '#!/usr/bin/env python3\nprint()', 'python3'],
    ['with env in another folder', '#!/bin/env python3\n', 'python3'],
    ['with env and arguments', '#!/usr/bin/env node --no-warnings\n', 'node --no-warnings'],
    ['with env -S', '#!/usr/bin/env -S node --no-warnings --test\n', 'node --no-warnings --test'],
    ['with env -S and nothing else', '#!/usr/bin/env -S\n', undefined],
    ['with env and nothing else', '#!/usr/bin/env\n', undefined],
    ['with a full path', '#!/bin/bash\n', '/bin/bash'],
    ['with a full path and arguments', '#!/bin/bash -e -u\n', '/bin/bash -e -u'],
    ['with spaces and tabs', '#! \t/bin/bash \t -e \t\n', '/bin/bash -e'],
    ['with a Windows line end', '#!/usr/bin/env python3\r\nprint()\r\n', 'python3'],
    ['without a line end', '#!/bin/sh', '/bin/sh'],
    ['with nothing after #!', '#!\n', undefined],
    ['with only spaces', '#!   \n/bin/sh', undefined],
    ['with nothing after #! and no line end', '#!', undefined],
    ['with a NUL', '#!/bin/sh\0 -e\nx', '/bin/sh'],
    ['with a NUL in an argument', '#!/usr/bin/env node --a\0b\nx', 'node --a'],
    ['with a space before the !', '# !/bin/sh\n', undefined],
    ['after a blank line', '\n#!/bin/sh\n', undefined],
    ['after a byte order mark', '\ufeff#!/bin/sh\n', undefined],
    ['missing from an empty file', '', undefined],
  ];
  test.each(rows)('%s selects the expected interpreter, if any', (_, text, expected) => {
    expect(asked('script', text)).toBe(expected);
  });

  test('of 300 bytes is cut where Linux cuts it', () => {
    const long = `#!/bin/sh ${'x'.repeat(290)}\n`;
    expect(asked('script', long)).toBe(long.slice(2, 256));
  });

  test('takes precedence over the file extension unless it is empty', () => {
    expect(asked('a.py', '#!/usr/bin/env node\n')).toBe('node');
    expect(asked('a.py', '#!\nprint()')).toBe('python3');
  });

  test('can contain any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
        const found = interpreterOf('x', Buffer.concat([Buffer.from('#!'), bytes]));
        for (const word of found ? [found.program, ...found.args] : []) expect(word).toMatch(/^[^\0\n\t ]+$/);
      }),
    );
  });
});

describe('a Python file that defines run_tool', () => {
  const TOOL = 'def run_tool(input_dir, output_dir):\n    return None\n';
  const rows: [string, string, string, string][] = [
    ['is run by the helper if its extension is .py', 'a.py', TOOL, 'python3 -m proctor_tool'],
    [
      'is run by the helper if its shebang line names Python',
      'a',
      `#!/usr/bin/env python3\n${TOOL}`,
      'python3 -m proctor_tool',
    ],
    [
      'is run by the helper with the interpreter in its shebang line',
      'a',
      `#!/usr/bin/python3\n${TOOL}`,
      '/usr/bin/python3 -m proctor_tool',
    ],
    [
      'is run by the helper with the arguments in its shebang line',
      'a',
      `#!/usr/bin/python3 -B\n${TOOL}`,
      '/usr/bin/python3 -B -m proctor_tool',
    ],
    [
      'is run by the helper even if the function is below other lines',
      'a.py',
      `import os\n\n${TOOL}`,
      'python3 -m proctor_tool',
    ],
    [
      'is run by the helper even with Windows line ends',
      'a.py',
      TOOL.replaceAll('\n', '\r\n'),
      'python3 -m proctor_tool',
    ],
    ['is run directly if the function is indented', 'a.py', `class A:\n    ${TOOL}`, 'python3'],
    ['is run directly if the function has a longer name', 'a.py', 'def run_tools(a, b): pass\n', 'python3'],
    ['is run directly if the function is only in a comment', 'a.py', '# def run_tool(a, b): ...\n', 'python3'],
    ['is run directly if it calls the function itself', 'a.py', `${TOOL}run_tool('input', 'output')\n`, 'python3'],
    ['is run directly if it has a main block', 'a.py', `${TOOL}if __name__ == '__main__':\n    main()\n`, 'python3'],
    [
      'is run directly if it passes the function to the helper',
      'a.py',
      `import proctor_tool\n${TOOL}proctor_tool.run(run_tool)\n`,
      'python3',
    ],
    ['is run as a shell script if its extension is .sh', 'a.sh', TOOL, 'sh'],
    ['is run by Node if its shebang line names Node', 'a.py', `#!/usr/bin/env node\n${TOOL}`, 'node'],
  ];
  test.each(rows)('%s', (_, name, text, expected) => {
    expect(asked(name, text)).toBe(expected);
  });
});

describe('a file extension', () => {
  test.each([
    ['a.py', 'python3'],
    ['A.PY', 'python3'],
    ['a.mjs', 'node'],
    ['a.js', 'node'],
    ['a.cjs', 'node'],
    ['a.sh', 'sh'],
    ['a.b.sh', 'sh'],
  ])('%s selects %s', (name, program) => {
    expect(asked(name, 'x')).toBe(program);
    expect(hasKnownEnding(name)).toBe(true);
  });

  test.each(['a', 'a.txt', 'a.rb', '.py', 'py', 'a.py.bak', 'a.', 'a.constructor', 'a.__proto__'])(
    '%s selects nothing',
    name => {
      expect(asked(name, 'x')).toBeUndefined();
      expect(hasKnownEnding(name)).toBe(false);
    },
  );
});

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { DEFAULT_CAPS } from '../../../src/policy/caps.ts';
import { checkOrder, type ScriptOrder } from '../../../src/run/script/order.ts';
import { temporaryFolder } from '../../support/support.ts';

/** A folder with a valid script. */
function world(files: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const at = (name: string): string => path.join(folder, name);
  for (const [name, text] of Object.entries({ 'ok.py': 'print()', ...files })) {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  }
  return { folder, at };
}

/** The fault of a refused request, which must not contain a host path. */
function refusal(order: ScriptOrder): string {
  try {
    checkOrder(order);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    expect(fault.message).not.toContain(path.dirname(order.script));
    return `${fault.code}: ${fault.message}`;
  }
  return 'accepted';
}

function withScript(name: string, text: string, mode = 0o755): string {
  const { at } = world({ [name]: text });
  chmodSync(at(name), mode);
  return refusal({ script: at(name) });
}

const UNKNOWN = (name: string): string =>
  `unknown_interpreter: Proctor does not know which program runs ${name}. Add a first line such as "#!/usr/bin/env python3", or an extension such as .py, .mjs, .js or .sh.`;
const ABSENT = (name: string, program: string): string =>
  `unknown_interpreter: ${name} requires ${program}, which is not installed where the sandbox can see it. Run proctor doctor to list what is, or write the full path of ${program} in the first line.`;

describe('a script', () => {
  test('that does not exist is refused', () => {
    expect(refusal({ script: world().at('no.py') })).toBe('usage: The script no.py does not exist.');
  });

  test('that is a folder is refused', () => {
    const { at } = world({ 'folder.py/x': '' });
    expect(refusal({ script: at('folder.py') })).toBe('usage: folder.py is a folder, not a script.');
  });

  test('that is a FIFO is refused without blocking', () => {
    const { at } = world();
    execFileSync('mkfifo', [at('pipe.py')]);
    expect(refusal({ script: at('pipe.py') })).toBe('usage: pipe.py is not a regular file.');
  });

  test('that is too large is refused', () => {
    const { at } = world();
    truncateSync(at('ok.py'), 16 * 1024 * 1024);
    expect(refusal({ script: at('ok.py') })).toBe('accepted');
    truncateSync(at('ok.py'), 16 * 1024 * 1024 + 1);
    expect(refusal({ script: at('ok.py') })).toBe('usage: ok.py is too large. The limit for a script is 16 MiB.');
  });

  test('that cannot be read is refused', () => {
    const { folder, at } = world();
    chmodSync(at('ok.py'), 0o200);
    expect(asNobody(folder, () => refusal({ script: at('ok.py') }))).toBe('usage: The script ok.py cannot be read.');
  });

  test('in a folder that cannot be entered is refused', () => {
    const { folder, at } = world({ 'closed/ok.py': '' });
    chmodSync(at('closed'), 0);
    expect(asNobody(folder, () => refusal({ script: at('closed/ok.py') }))).toBe(
      'usage: The script ok.py cannot be read.',
    );
  });

  const reserved = (name: string): string =>
    `usage: A script cannot be named ${name}: the work folder reserves that name.`;
  const named = (rest: string): string => `usage: The name of the script ${rest}.`;
  test.each([
    ['input', '#!/bin/sh\n', reserved('input')],
    ['OUTPUT', '#!/bin/sh\n', reserved('OUTPUT')],
    ['Result.json', '#!/bin/sh\n', reserved('Result.json')],
    ['~me.py', '', named('~me.py starts with a home folder')],
    ['a\\b.py', '', named('a\\b.py is a path, not a bare name')],
    ['a\u202eb.py', '', named('a\\u{202e}b.py contains an invisible or bidirectional control character')],
    ['a\nb.py', '', named('a\\u{a}b.py contains a control character')],
  ])('named %j is refused', (name, text, sentence) => {
    expect(withScript(name, text)).toBe(sentence);
  });

  test.each([
    [
      'a shebang line and no extension must be executable',
      'run',
      '#!/usr/bin/env python3\n',
      0o644,
      'usage: run is not executable. Run chmod +x.',
    ],
    ['a shebang line is accepted if it is executable', 'run', '#!/usr/bin/env python3\n', 0o755, 'accepted'],
    ['a known extension need not be executable', 'run.sh', '', 0o644, 'accepted'],
    ['an unknown extension is refused', 'run.xyz', 'x', 0o755, UNKNOWN('run.xyz')],
    ['neither an extension nor a shebang line is refused', 'run', '', 0o755, UNKNOWN('run')],
    [
      'a shebang line for a program that is not installed is refused',
      'run',
      '#!/usr/bin/env cobol\n',
      0o755,
      ABSENT('run', 'cobol'),
    ],
    [
      'a path to a program that is not installed is refused',
      'run',
      '#!/usr/bin/cobol\n',
      0o755,
      ABSENT('run', 'cobol'),
    ],
    [
      'a path that is not visible in a sandbox is refused',
      'run',
      '#!/opt/own/python3\n',
      0o755,
      ABSENT('run', 'python3'),
    ],
    ['a path to a folder is refused', 'run', '#!/usr/bin\n', 0o755, ABSENT('run', 'bin')],
    ['a relative path is refused', 'run', '#!bin/sh\n', 0o755, ABSENT('run', 'sh')],
    ['an invalid program name is refused', 'run', '#!/usr/bin/env $(id)\n', 0o755, ABSENT('run', '$(id)')],
    ['a program whose name cannot be recorded is refused', 'run', '#!/usr/bin/[\n', 0o755, ABSENT('run', '[')],
    ['an option of env is refused', 'run', '#!/usr/bin/env -i sh\n', 0o755, ABSENT('run', '-i')],
    [
      'a terminal escape in its shebang line is refused',
      'run',
      '#!/usr/bin/env \u001b[31mred\n',
      0o755,
      ABSENT('run', '\\u{1b}[31mred'),
    ],
  ])('with %s', (_, name, text, mode, sentence) => {
    expect(withScript(name, text, mode)).toBe(sentence);
  });

  test('behind a symlink gets the name of the symlink', () => {
    const { at } = world();
    symlinkSync(at('ok.py'), at('linked.py'));
    expect(checkOrder({ script: at('linked.py') }).script.name).toBe('linked.py');
  });

  test('gets its program and arguments from its first line', () => {
    const { at } = world({ run: '#!/usr/bin/env -S sh -e\n' });
    chmodSync(at('run'), 0o755);
    const { interpreter, ...rest } = checkOrder({ script: at('run'), args: ['a', ''] });
    expect(interpreter).toMatchObject({ name: 'sh', args: ['-e'] });
    expect(interpreter.path).toMatch(/^\/(?:usr\/)?bin\/sh$/);
    expect(rest).toEqual({
      script: { source: at('run'), name: 'run' },
      inputs: [],
      args: ['a', ''],
      env: {},
      secrets: {},
      bounds: {},
      caps: DEFAULT_CAPS,
    });
  });
});

describe('an input', () => {
  const given = (prepare: (at: (name: string) => string) => void, ...names: string[]): string => {
    const { at } = world({ 'a.csv': '1', 'sub/b.csv': '2' });
    prepare(at);
    return refusal({ script: at('ok.py'), inputs: names.map(at) });
  };
  const nothing = (): void => undefined;

  test('is stored under its base name', () => {
    const { at } = world({ 'a.csv': '1', 'sub/b.csv': '2' });
    const { inputs } = checkOrder({ script: at('ok.py'), inputs: [at('a.csv'), at('sub/b.csv')] });
    expect(inputs).toEqual([
      { source: at('a.csv'), name: 'a.csv' },
      { source: at('sub/b.csv'), name: 'b.csv' },
    ]);
  });

  const rows: [string, (at: (name: string) => string) => void, string[], string][] = [
    ['that is missing', nothing, ['no.csv'], 'The input no.csv does not exist.'],
    ['that is a folder', nothing, ['sub'], 'The input sub is a folder. Pass its files, or an archive.'],
    ['that is the parent folder', nothing, ['sub/..'], 'is a folder. Pass its files, or an archive.'],
    [
      'that is a link',
      at => symlinkSync(at('a.csv'), at('l.csv')),
      ['l.csv'],
      'The input l.csv is a symlink. Pass the file itself.',
    ],
    [
      'that is a link to nothing',
      at => symlinkSync(at('no'), at('l.csv')),
      ['l.csv'],
      'The input l.csv is a symlink. Pass the file itself.',
    ],
    ['that is a FIFO', at => execFileSync('mkfifo', [at('p')]), ['p'], 'The input p is not a regular file.'],
    ['that is specified twice', nothing, ['a.csv', 'a.csv'], 'Two inputs are named a.csv.'],
    [
      'with the same name in another folder',
      at => writeFileSync(at('sub/a.csv'), ''),
      ['a.csv', 'sub/a.csv'],
      'Two inputs are named a.csv.',
    ],
    [
      'with a name that differs only in case',
      at => writeFileSync(at('sub/A.CSV'), ''),
      ['a.csv', 'sub/A.CSV'],
      'Two inputs are named A.CSV.',
    ],
    [
      'with a name that looks the same',
      at => writeFileSync(at('sub/ａ.csv'), ''),
      ['a.csv', 'sub/ａ.csv'],
      'Two inputs are named ａ.csv.',
    ],
    [
      'with a bidirectional control character in its name',
      at => writeFileSync(at('\u202evsc'), ''),
      ['\u202evsc'],
      'The name of the input \\u{202e}vsc contains an invisible or bidirectional control character.',
    ],
    [
      'with a backslash in its name',
      at => writeFileSync(at('a\\b'), ''),
      ['a\\b'],
      'The name of the input a\\b is a path, not a bare name.',
    ],
    ['of exactly 1 GiB', at => truncateSync(at('a.csv'), 1024 ** 3), ['a.csv'], 'accepted'],
    [
      'that is too large',
      at => truncateSync(at('a.csv'), 1024 ** 3 + 1),
      ['a.csv'],
      'The inputs are too large. The limit for all inputs together is 1 GiB.',
    ],
    [
      'that is too large together with the others',
      at => truncateSync(at('a.csv'), 1024 ** 3),
      ['a.csv', 'sub/b.csv'],
      'The inputs are too large. The limit for all inputs together is 1 GiB.',
    ],
  ];
  test.each(rows)('%s is accepted or refused as expected', (_, prepare, names, sentence) => {
    expect(given(prepare, ...names)).toContain(sentence);
  });

  test('beyond the thousandth is refused', () => {
    const { at } = world();
    const many = Array.from({ length: 1_001 }, (_, no) => at(String(no)));
    expect(refusal({ script: at('ok.py'), inputs: many })).toBe('usage: A script may have at most 1000 inputs.');
  });
});

describe('a variable', () => {
  const entering = (variables: Record<string, string>): string[] => {
    const { at } = world();
    return [refusal({ script: at('ok.py'), env: variables }), refusal({ script: at('ok.py'), secrets: variables })];
  };

  test.each(['A', '_', 'a_1', 'SHOP_TOKEN', 'GITHUB_X', 'MY_AWS_KEY', 'A'.repeat(128)])(
    '%s may be passed to a run',
    name => {
      expect(entering({ [name]: 'x' })).toEqual(['accepted', 'accepted']);
    },
  );

  test.each(['', '1A', 'A B', 'A=B', 'A-B', 'Ä', 'A\n', 'A'.repeat(129)])('%j is not a valid name', name => {
    for (const said of entering({ [name]: 'x' })) expect(said).toMatch(/^usage: ".*" is not a valid variable name\.$/);
  });

  test.each(['SSH_AUTH_SOCK', 'NPM_TOKEN', 'GIT_DIR', 'AWS_REGION', 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY'])(
    '%s is refused, even as a secret',
    name => {
      for (const said of entering({ [name]: 'x' }))
        expect(said).toContain(`The variable ${name} cannot be passed to a run`);
    },
  );

  test.each(['PATH', 'HOME', 'LANG', 'TZ', 'PYTHONPATH', 'PROCTOR_TOOL', 'PROCTOR_RUN'])(
    '%s is reserved by Proctor',
    name => {
      for (const said of entering({ [name]: 'x' })) {
        expect(said).toBe(`usage: Proctor sets the variable ${name} itself.`);
      }
    },
  );

  test.each([
    ['a NUL in its value', { A: 'a\0b' }],
    ['half a surrogate pair in its value', { A: '\ud800' }],
    ['a value that is too long', { A: 'x'.repeat(64 * 1024) }],
    [
      'values that are too long together',
      Object.fromEntries(Array.from({ length: 20 }, (_, no) => [`A${no}`, 'x'.repeat(60_000)])),
    ],
    ['too many others', Object.fromEntries(Array.from({ length: 1_001 }, (_, no) => [`A${no}`, '']))],
  ])('with %s is refused', (_, variables) => {
    for (const said of entering(variables)) {
      expect(said).toBe(
        'usage: The script has too many variables, or one is too long or contains a NUL or half a surrogate pair.',
      );
    }
  });
});

describe('arguments', () => {
  const given = (args: string[]): string => refusal({ script: world().at('ok.py'), args });
  const refused =
    'usage: The script has too many arguments, or one is too long or contains a NUL or half a surrogate pair.';

  test.each([
    ['a thousand', Array.from({ length: 1_000 }, () => 'x'), 'accepted'],
    ['a thousand and one', Array.from({ length: 1_001 }, () => 'x'), refused],
    ['64 KiB', ['x'.repeat(64 * 1024)], 'accepted'],
    ['64 KiB and a byte', ['x'.repeat(64 * 1024 + 1)], refused],
    ['64 Ki letters of two bytes', ['é'.repeat(64 * 1024)], refused],
    ['more than can be passed to a program', Array.from({ length: 20 }, () => 'x'.repeat(60_000)), refused],
    ['a NUL', ['a\0b'], refused],
    ['half a surrogate pair', ['a\udc00b'], refused],
    ['whole characters', ['😀', '-', '--', '', '\n'], 'accepted'],
  ])('are accepted or refused as expected: %s', (_, args, expected) => {
    expect(given(args)).toBe(expected);
  });
});

/** Root can read everything, so this switches to another user. */
function asNobody<T>(folder: string, act: () => T): T {
  if (process.getuid?.() !== 0) return act();
  chmodSync(folder, 0o755);
  chownSync(folder, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return act();
  } finally {
    process.seteuid?.(0);
  }
}

const NOBODY = 65_534;

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';
import { ROOT } from './support/support.ts';

/** Which room may import which. A room may always import itself. */
const LAW: Record<string, readonly string[]> = {
  base: [],
  contracts: ['base'],
  trace: ['base', 'contracts'],
  policy: ['base', 'contracts'],
  adapters: ['base', 'contracts', 'policy'],
  targets: ['base', 'contracts'],
  execute: ['base', 'contracts', 'policy'],
  evidence: ['base', 'contracts'],
  run: ['base', 'contracts', 'policy', 'adapters', 'targets', 'execute', 'evidence', 'queue', 'store', 'trace'],
  verify: ['base', 'contracts', 'targets', 'evidence'],
  judge: ['base', 'contracts', 'evidence', 'run'],
  reports: ['base', 'contracts', 'evidence'],
  publish: ['base', 'contracts', 'evidence'],
  queue: ['base', 'contracts'],
  store: ['base', 'contracts'],
  work: ['base', 'contracts', 'run', 'queue', 'store'],
  verbs: [
    'base',
    'contracts',
    'policy',
    'targets',
    'execute',
    'evidence',
    'run',
    'verify',
    'judge',
    'reports',
    'publish',
    'queue',
    'store',
    'work',
    'trace',
  ],
  serve: ['base', 'contracts', 'evidence', 'publish', 'queue', 'store', 'verbs'],
  client: ['base', 'contracts'],
  cli: ['base', 'contracts', 'client', 'verbs', 'serve'],
};

/** The same for the rooms inside a room, lowest first. `.` is the files directly in it. */
const INNER_LAW: Record<string, Record<string, readonly string[]>> = {
  execute: {
    '.': [],
    host: [],
    cgroups: ['host'],
    worktree: ['host'],
    job: ['host', 'worktree'],
    served: ['host', 'cgroups', 'job'],
    sandboxes: ['host', 'cgroups', 'job'],
    gateway: [],
    model: ['host', 'job', 'sandboxes', 'gateway'],
    launcher: ['host', 'cgroups', 'worktree', 'job', 'sandboxes', 'model'],
    agents: ['host', 'job', 'sandboxes', 'launcher'],
  },
  evidence: {
    '.': [],
    ingest: [],
    ledger: ['.'],
    step: ['.'],
    'run-folder': ['.', 'ledger', 'step'],
    pack: ['.', 'run-folder'],
    suite: ['.', 'step', 'run-folder'],
    recovery: ['.', 'ledger', 'step', 'run-folder', 'pack', 'suite'],
    script: ['.', 'step', 'run-folder', 'recovery'],
    agent: ['.', 'step', 'run-folder', 'recovery'],
    intent: ['.', 'step', 'recovery'],
    judgement: ['.', 'run-folder'],
  },
  run: {
    written: [],
    pipeline: [],
    results: [],
    checks: ['written', 'pipeline', 'results'],
    script: ['pipeline'],
    setup: ['pipeline'],
    agent: ['written', 'pipeline', 'checks', 'setup', 'script'],
    intent: ['written', 'pipeline'],
    suite: ['written', 'pipeline', 'checks', 'setup', 'script', 'agent'],
    project: ['written'],
    '.': ['agent'],
  },
  judge: {
    '.': [],
    agent: [],
    results: [],
    suite: [],
    causes: ['.', 'suite'],
    compare: ['.', 'results', 'suite', 'causes'],
  },
  serve: {
    operation: [],
    state: [],
    access: ['operation', 'state'],
    runs: [],
    live: ['operation'],
    orders: ['operation', 'state', 'access', 'runs'],
    workers: ['operation'],
    http: ['operation', 'state', 'access', 'runs', 'live', 'orders', 'workers'],
    routes: ['operation', 'state', 'access', 'runs', 'live', 'orders', 'workers', 'http'],
    '.': ['operation', 'state', 'access', 'runs', 'live', 'orders', 'workers', 'http', 'routes'],
  },
  cli: {
    text: [],
    options: ['text'],
    commands: ['text', 'options'],
    '.': ['text', 'commands'],
  },
};

/** APIs that are reserved for some rooms, and why. */
const RESERVED: { pattern: RegExp; rooms: readonly string[]; why: string }[] = [
  {
    pattern: /node:child_process|node:cluster|node:worker_threads/,
    rooms: ['execute'],
    why: 'only execute starts programs',
  },
  {
    pattern: /node:(?:net|http|https|http2|tls|dgram|dns)\b/,
    rooms: ['execute', 'serve', 'queue', 'store'],
    why: 'only execute, serve, queue and store open sockets',
  },
  { pattern: /process\.env/, rooms: ['cli'], why: 'only cli reads the environment' },
  { pattern: /process\.exit\b/, rooms: ['cli'], why: 'only cli ends the process' },
  { pattern: /console\./, rooms: [], why: 'all output goes through cli/text/out.ts' },
  {
    pattern: /Date\.now|new Date\(\)|Math\.random|randomBytes|randomUUID|performance\.now/,
    rooms: ['base'],
    why: 'only base reads clocks and random numbers',
  },
  { pattern: /localeCompare|Intl\.Collator/, rooms: [], why: 'order is by UTF-16 code unit on every machine' },
];

/** APIs that no page uses, and why. */
const NOT_IN_PAGES: { pattern: RegExp; why: string; except?: string }[] = [
  {
    pattern: /import (?!type\b)[^;]*'(?:\.\.\/)+src\/(?!base\/|contracts\/|reports\/rows\/)/,
    why: 'a page shares code only with base, contracts and reports/rows',
  },
  {
    pattern: /innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/i,
    why: 'text never becomes HTML or code',
  },
  {
    pattern: /\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon/,
    why: 'only the viewer makes network requests, in one file',
    except: 'web/live/api.ts',
  },
  { pattern: /Date\.now|new Date\(\)|Math\.random|toLocale|localeCompare/, why: 'a page looks the same everywhere' },
];

const LINES_MAX = 300;
const FUNCTION_LINES_MAX = 60;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter(file => file !== '' && existsSync(path.join(ROOT, file)));
const sources = files.filter(file => file.startsWith('src/') && file.endsWith('.ts'));
const pages = files.filter(file => /^web\/.*\.tsx?$/.test(file));
const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const roomOf = (file: string): string => file.split('/')[1] ?? '';
const innerRoomOf = (file: string): string => file.split('/').slice(2, -1)[0] ?? '.';
const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, target]) =>
    path.posix.join(path.posix.dirname(file), target as string),
  );

describe('the rooms', () => {
  test('are exactly those that have import rules', () => {
    expect([...new Set(sources.map(roomOf))].sort()).toEqual(Object.keys(LAW).sort());
  });

  test.each(sources)('%s imports only what its room may', file => {
    const room = roomOf(file);
    const foreign = importsOf(file).filter(target => roomOf(target) !== room && !LAW[room]?.includes(roomOf(target)));
    expect(foreign).toEqual([]);
  });

  test.each(sources.filter(file => roomOf(file) in INNER_LAW))('%s imports only what its inner room may', file => {
    const law = INNER_LAW[roomOf(file)] ?? {};
    const inner = innerRoomOf(file);
    const entered = importsOf(file)
      .filter(target => roomOf(target) === roomOf(file))
      .map(innerRoomOf);
    expect(Object.keys(law)).toContain(inner);
    expect(entered.filter(other => other !== inner && !law[inner]?.includes(other))).toEqual([]);
  });

  test('never import a later inner room', () => {
    for (const law of Object.values(INNER_LAW)) {
      const order = Object.keys(law);
      for (const [inner, others] of Object.entries(law)) {
        expect(others.filter(other => order.indexOf(other) >= order.indexOf(inner))).toEqual([]);
      }
    }
  });

  test.each(sources)('%s uses no API that is reserved for other rooms', file => {
    const text = textOf(file);
    const used = RESERVED.filter(({ pattern, rooms }) => pattern.test(text) && !rooms.includes(roomOf(file)));
    expect(used.map(({ why }) => why)).toEqual([]);
  });

  test.each(sources)(`%s has at most ${LINES_MAX} lines`, file => {
    expect(textOf(file).split('\n').length).toBeLessThanOrEqual(LINES_MAX);
  });

  test('have no unused file', () => {
    const doors = new Set([
      'src/cli/proctor.ts',
      'src/verbs/index.ts',
      'src/execute/launcher/launcher.ts',
      'src/execute/served/keeper.ts',
      'src/execute/host/file-writer.ts',
      'src/execute/host/call-answerer.ts',
      'src/execute/host/function-harness.ts',
      'src/judge/suite/judge-thread.ts',
      'src/verbs/reading/reading-thread.ts',
      'src/execute/worktree/keep-tree.ts',
      'src/execute/model/forward.ts',
      'src/verify/index.ts',
      'src/contracts/index.ts',
      'src/contracts/gate/decide/library.ts',
      'src/client/index.ts',
    ]);
    const programs = files.filter(file => /^(?:src|scripts|bench|web)\/.*\.tsx?$/.test(file));
    const imported = new Set(programs.flatMap(importsOf));
    expect(sources.filter(file => !imported.has(file) && !doors.has(file))).toEqual([]);
  });
});

describe('names and functions', () => {
  test('an exported name exists once', () => {
    const files: Record<string, string[]> = {};
    // The library loads each verb on demand, under the verb's own name.
    for (const file of sources.filter(file => file !== 'src/verbs/index.ts')) {
      for (const name of exportedBy(file)) (files[name] ??= []).push(file);
    }
    expect(Object.entries(files).filter(([, places]) => places.length > 1)).toEqual([]);
  });

  test(`no function is longer than ${FUNCTION_LINES_MAX} lines`, () => {
    const all = [...sources, ...pages].flatMap(functionsIn);
    expect(all.filter(({ lines }) => lines > FUNCTION_LINES_MAX)).toEqual([]);
  });

  test('functions of every form are measured', () => {
    const source = [
      'function a() {',
      '  const b = () => {',
      '    x();',
      '  };',
      '}',
      'class C {',
      '  d() {',
      '  }',
      '}',
    ];
    expect(functionsOf('f.ts', source.join('\n'))).toEqual([
      { name: 'f.ts a', lines: 5 },
      { name: 'f.ts b', lines: 3 },
      { name: 'f.ts d', lines: 2 },
    ]);
  });
});

describe('the pages', () => {
  test.each(pages)('%s uses no API that is forbidden in a page', file => {
    const used = NOT_IN_PAGES.filter(({ pattern, except }) => file !== except && pattern.test(textOf(file)));
    expect(used.map(({ why }) => why)).toEqual([]);
  });

  test.each(pages)(`%s has at most ${LINES_MAX} lines`, file => {
    expect(textOf(file).split('\n').length).toBeLessThanOrEqual(LINES_MAX);
  });
});

describe('the repository', () => {
  test('contains no trace of the machine it was written on', () => {
    const paths = /\/(?:work|farm)\/(?:main|shared)|\/root\/[a-z]/;
    const texts = files.filter(file => /\.(?:ts|mjs|json|md|sh|yml)$/.test(file) && !file.startsWith('tests/'));
    expect(texts.filter(file => paths.test(textOf(file)))).toEqual([]);
  });

  test('has a lock file without registry addresses', () => {
    expect(textOf('package-lock.json')).not.toMatch(/"resolved"/);
  });

  test('has no skipped or exclusive test', () => {
    const marks = /\b(?:test|describe|it)\.(?:skip|only|todo)\b/;
    expect(
      files.filter(file => file.endsWith('.test.ts') && !file.endsWith('tidy.test.ts') && marks.test(textOf(file))),
    ).toEqual([]);
  });
});

describe('the import rules', () => {
  test('catch forbidden imports and APIs', () => {
    const forbidden: [string, string][] = [
      ["import { spawn } from 'node:child_process';", 'only execute starts programs'],
      ["import http from 'node:http';", 'only execute, serve, queue and store open sockets'],
      ['const { HOME } = process.env;', 'only cli reads the environment'],
      ['process.exit(1);', 'only cli ends the process'],
      ["console.log('x');", 'all output goes through cli/text/out.ts'],
      ['const id = Math.random();', 'only base reads clocks and random numbers'],
      ['list.sort((a, b) => a.localeCompare(b));', 'order is by UTF-16 code unit on every machine'],
    ];
    for (const [line, why] of forbidden) {
      expect(
        RESERVED.filter(({ pattern }) => pattern.test(line)).map(rule => rule.why),
        line,
      ).toEqual([why]);
    }
    expect(forbidden).toHaveLength(RESERVED.length);
    const inPages = [
      "import { htmlText } from '../../src/reports/embed.ts';",
      'element.innerHTML = text;',
      "void fetch('/x');",
      'const now = Date.now();',
    ];
    for (const [index, line] of inPages.entries()) {
      expect(NOT_IN_PAGES.flatMap(({ pattern }, at) => (pattern.test(line) ? [at] : []))).toEqual([index]);
    }
    expect(inPages).toHaveLength(NOT_IN_PAGES.length);
  });

  test('apply to imports of every form', () => {
    expect(importsOf('src/cli/commands/verify.ts')).toContain('src/verbs/verify.ts');
    expect(importsOf('src/verbs/verify.ts')).toContain('src/verify/index.ts');
    expect(importsOf('src/verify/index.ts')).toContain('src/verify/file.ts');
  });
});

interface Measured {
  readonly name: string;
  readonly lines: number;
}

function exportedBy(file: string): string[] {
  const declared =
    /^export (?:declare |abstract )*(?:type|interface|class|function\*?|async function\*?|const|let|enum) (\w+)/gm;
  return [...textOf(file).matchAll(declared)].map(([, name]) => name as string);
}

function functionsIn(file: string): Measured[] {
  return functionsOf(file, textOf(file));
}

function functionsOf(file: string, text: string): Measured[] {
  const found: Measured[] = [];
  const visit = (node: unknown, name: string): void => {
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) {
      for (const child of node) visit(child, name);
      return;
    }
    const { type, start, end, id, key, ...children } = node as Node;
    const own = id?.name ?? key?.name ?? name;
    if (type !== undefined && FUNCTIONS.has(type) && children['body']) {
      found.push({ name: `${file} ${own}`, lines: text.slice(start, end).split('\n').length });
    }
    for (const child of Object.values(children)) visit(child, own);
  };
  visit(parseAst(text, { lang: file.endsWith('.tsx') ? 'tsx' : 'ts' }).body, '');
  return found;
}

interface Node extends Record<string, unknown> {
  readonly type?: string;
  readonly start: number;
  readonly end: number;
  readonly id?: { readonly name?: string } | null;
  readonly key?: { readonly name?: string } | null;
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

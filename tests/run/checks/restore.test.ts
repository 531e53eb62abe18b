import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/support.ts';
import { put } from '../../execute/worktree/clone-world.ts';
import { laid } from './laid-tree.ts';

const FILES = {
  Makefile: 'include rules.mk\ntest:\n\tsh run.sh\n',
  'rules.mk': 'X = 1\n',
  'run.sh': '. ./lib.sh\ntrue\n',
  'lib.sh': 'true\n',
  'src/a.js': '1;\n',
  'tests/a.test.js': '1;\n',
  'tests/equal.js': '1;\n',
};

test('keeps and lists a file that the check lets the agent change; the second look uses the base version', async () => {
  const deed = 'echo "other:" > Makefile; echo 2 > tests/a.test.js; echo 2 > run.sh; echo 2 > src/a.js';
  const check = { command: 'make test', keep: ['Make*', 'tests/**'], paths: ['src'] };
  const { top, restored, kept } = await laid(FILES, deed, check);
  expect(restored).toEqual(['changed run.sh']);
  expect(kept).toEqual(['changed Makefile', 'changed tests/a.test.js']);
  expect(readFileSync(path.join(top, 'Makefile'), 'utf8')).toBe('other:\n');
  const second = await laid(FILES, deed, check, { isSecond: true });
  expect([second.restored, second.kept]).toEqual([[], []]);
  expect(readFileSync(path.join(second.top, 'Makefile'), 'utf8')).toBe(FILES.Makefile);
  expect(readFileSync(path.join(second.top, 'src/a.js'), 'utf8')).toBe('2\n');
});

test('hidden files overwrite a kept change', async () => {
  const overlay = {
    sha256: '',
    files: new Map([['tests/a.test.js', { bytes: Buffer.from('h'), isExecutable: false }]]),
  };
  const { top, kept } = await laid(FILES, 'echo 2 > tests/a.test.js', { command: 'x', keep: ['tests'], overlay });
  expect(kept).toEqual(['changed tests/a.test.js']);
  expect(readFileSync(path.join(top, 'tests/a.test.js'), 'utf8')).toBe('h');
});

test('does not keep a report that the agent planted, even if the check keeps every file', async () => {
  const { restored } = await laid(FILES, 'echo 1 > out.xml', { command: 'x', keep: ['**'], report: 'out.xml' });
  expect(restored).toEqual(['added out.xml']);
});

test('empties the path of a mount, even behind a link or a file', async () => {
  const source = temporaryFolder();
  const mounts = [{ source, target: '/work/lib/node_modules' }];
  for (const deed of [
    'mkdir -p lib/node_modules/vitest; echo fake > lib/node_modules/vitest/index.js',
    'mkdir -p evil/node_modules; echo fake > evil/node_modules/x; ln -s evil lib',
    'echo file > lib',
  ]) {
    const { top } = await laid(FILES, deed, { command: 'x' }, { mounts });
    expect(lstatSync(path.join(top, 'lib')).isDirectory()).toBe(true);
    expect(readdirSync(path.join(top, 'lib/node_modules'))).toEqual([]);
  }
});

test.each([
  ['a script that a rule runs', 'echo exit 0 > run.sh', 'changed run.sh'],
  ['a script that a script loads', 'echo exit 0 > lib.sh', 'changed lib.sh'],
  ['an included makefile', 'echo SHELL=/bin/true > rules.mk', 'changed rules.mk'],
  ['a makefile that make prefers', "printf 'test:\\n' > GNUmakefile", 'added GNUmakefile'],
  ['a makefile whose name differs in case', "printf 'test:\\n' > makefile", 'added makefile'],
  ['a helper that hides another', 'echo 1 > tests/equal', 'added tests/equal'],
  ['a folder that hides a helper', 'mkdir tests/equal; echo 1 > tests/equal/index.js', 'added tests/equal/index.js'],
  ['a package.json for the tests', 'echo {} > tests/package.json', 'added tests/package.json'],
  ['a package marker in the tests', 'echo 1 > tests/__init__.py', 'added tests/__init__.py'],
  ['a module of a runner', 'echo 1 > unittest.py', 'added unittest.py'],
  ['dependencies', 'mkdir -p node_modules/vitest; echo 1 > node_modules/vitest/x.js', 'added node_modules'],
  ['a link to dependencies', 'mkdir x; ln -s x node_modules', 'added node_modules'],
  ['a runner of cargo', 'mkdir .cargo; echo runner > .cargo/config.toml', 'added .cargo/config.toml'],
  ['a Go test with its own TestMain', 'echo "func TestMain(m *testing.M) {}" > src/z_test.go', 'added src/z_test.go'],
  ['a link instead of the tests', 'mv tests t; ln -s t tests', 'deleted tests/a.test.js'],
  ['a file instead of the tests', 'rm -r tests; echo 1 > tests', 'deleted tests/a.test.js'],
  ['a folder instead of a script', 'rm run.sh; mkdir -p run.sh/x', 'deleted run.sh'],
])('puts back or removes %s', async (_what, deed, listed) => {
  const { top, restored } = await laid(FILES, deed, { command: 'make test' });
  expect(restored).toContain(listed);
  const [change = '', at = ''] = listed.split(' ');
  const place = path.join(top, at);
  expect(existsSync(place)).toBe(change !== 'added');
  if (change !== 'added') expect(readFileSync(place, 'utf8')).toBe(FILES[at as keyof typeof FILES]);
});

test.each([
  ['a new test', 'echo 1 > tests/b.test.js; echo 1 > tests/a.test.ts'],
  ['a fixture', 'mkdir tests/fixtures; echo 1 > tests/fixtures/x.json'],
  ['a new folder of tests with its own marker', 'mkdir tests/deep; echo 1 > tests/deep/__init__.py'],
  ['a module of the project', 'mkdir app; echo 1 > app/logging.py; echo 1 > src/copy.py'],
  ['a new Go test', 'echo "func TestX(t *testing.T) {}" > src/x_test.go'],
  ['a compiler configuration in a project without one', 'echo {} > tsconfig.json'],
])('does not touch %s', async (_what, deed) => {
  expect((await laid(FILES, deed, { command: 'make test' })).restored).toEqual([]);
});

test('leaves out caches without listing them, and leaves new tests out of the second look', async () => {
  const deed =
    'mkdir -p tests/__pycache__; echo 1 > tests/__pycache__/a.pyc; echo 1 > src/new.test.js; echo 1 > src/new.js';
  const check = { command: 'make test', paths: ['src'] };
  const first = await laid(FILES, deed, check);
  expect([first.restored, existsSync(path.join(first.top, 'tests/__pycache__'))]).toEqual([[], false]);
  expect(existsSync(path.join(first.top, 'src/new.test.js'))).toBe(true);
  const { top } = await laid(FILES, deed, check, { isSecond: true });
  expect(readdirSync(path.join(top, 'src'))).toEqual(['a.js', 'new.js']);
});

test('puts dependencies back as they were before the agent started', async () => {
  const files = { ...FILES, 'node_modules/dep/index.js': '1;\n', 'node_modules/dep/other.js': '1;\n' };
  const check = { command: 'make test' };
  for (const [deed, change] of [
    ['echo 2 > node_modules/dep/index.js', 'changed node_modules'],
    ['rm -r node_modules', 'deleted node_modules'],
    ['rm -r node_modules/dep; ln -s ../src node_modules/dep', 'changed node_modules'],
  ] as const) {
    const { top, restored } = await laid(files, deed, check);
    expect(restored).toEqual([change]);
    expect(readFileSync(path.join(top, 'node_modules/dep/index.js'), 'utf8')).toBe('1;\n');
    expect(existsSync(path.join(top, 'node_modules/dep/other.js'))).toBe(true);
  }
  expect((await laid(files, 'true', check)).restored).toEqual([]);
});

test('restores test scripts and imports in each package.json, and keeps the other changes of the agent', async () => {
  const base = {
    scripts: { test: 'run-s unit:* lint', 'unit:a': 'x', lint: 'y', start: 'z' },
    imports: { '#e': './e.js' },
  };
  const files = { ...FILES, 'package.json': JSON.stringify(base), 'sub/package.json': JSON.stringify(base) };
  const changed = {
    scripts: { ...base.scripts, 'unit:a': 'true', pretest: 'true', start: 'new' },
    imports: { '#e': './fake.js', '#mine': './m.js' },
    dependencies: { a: '1' },
  };
  const folder = temporaryFolder();
  put(folder, { 'package.json': JSON.stringify(changed) });
  const deed = `cp ${folder}/package.json package.json; cp ${folder}/package.json sub/package.json`;
  const { top, restored } = await laid(files, deed, { command: 'npm test && cd sub && npm test' });
  expect(restored).toEqual(['changed package.json', 'changed sub/package.json']);
  for (const at of ['package.json', 'sub/package.json'])
    expect(JSON.parse(readFileSync(path.join(top, at), 'utf8'))).toEqual({
      scripts: { ...base.scripts, start: 'new' },
      imports: { '#e': './e.js', '#mine': './m.js' },
      dependencies: { a: '1' },
    });
});

/** What npm packs and how the checkout is built. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadContracts } from '../src/contracts/catalogue.ts';
import { ROOT, temporaryFolder } from './support/support.ts';

interface Packed {
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

/** What `npm pack` would write, without running a script. */
function packed(folder: string): Packed {
  const words = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const said = execFileSync('npm', words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return (JSON.parse(said) as [Packed])[0];
}

describe('the tarball', () => {
  let tarball: Packed;
  beforeAll(() => {
    tarball = packed(ROOT);
  });

  test('contains the built package, its documents, examples, helpers and schemas, and nothing else', () => {
    const names = tarball.files.map(file => file.path);
    const folders = new Set(names.map(name => (name.includes('/') ? `${name.split('/')[0]}/` : name)));
    expect([...folders].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/',
      'docs/',
      'examples/',
      'helpers/',
      'package.json',
      'schemas/',
    ]);
    const built = names.filter(name => name.startsWith('dist/') && !name.startsWith('dist/types/'));
    expect(built.filter(name => !/\.(?:js|mjs|cjs|css)$/.test(name))).toEqual([]);
    const types = names.filter(name => name.startsWith('dist/types/'));
    expect(types.filter(name => !name.endsWith('.d.ts'))).toEqual([]);
    expect(tarball.files.find(file => file.path === 'dist/proctor.js')?.mode).toBe(0o755);
  });

  test('is at most 3 MB, and 14 MB when unpacked', () => {
    expect(tarball.size).toBeLessThan(3_000_000);
    expect(tarball.unpackedSize).toBeLessThan(14_000_000);
  });

  test('contains every file that package.json names', () => {
    const { bin, exports } = manifest();
    const entries = Object.entries(exports).filter(([name]) => !name.includes('*'));
    const files = [
      ...Object.values(bin),
      ...entries.flatMap(([, to]) => (typeof to === 'string' ? [to] : Object.values(to))),
    ];
    const names = new Set(tarball.files.map(file => file.path));
    expect(files.map(file => file.replace('./', '')).filter(file => !names.has(file))).toEqual([]);
  });

  test('omits the files of an earlier build that dist/ keeps for running programs', async () => {
    const { moveInto } = await builder();
    const copy = temporaryFolder();
    cpSync(path.join(ROOT, 'package.json'), path.join(copy, 'package.json'));
    fill(path.join(copy, 'dist'), { 'proctor.js': 'old', 'chunk-OLD.js': 'old' });
    fill(path.join(copy, 'beside'), { 'proctor.js': 'new', 'chunk-NEW.js': 'new' });
    moveInto(path.join(copy, 'dist'), path.join(copy, 'beside'));
    expect(readdirSync(path.join(copy, 'dist'))).toContain('chunk-OLD.js');
    const names = packed(copy).files.map(file => file.path);
    expect(names.filter(name => name.startsWith('dist/'))).toEqual(['dist/chunk-NEW.js', 'dist/proctor.js']);
  });
});

describe('a command without a queue', () => {
  test('never loads the code for PostgreSQL or S3', () => {
    const reached = new Set<string>();
    const reach = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      const text = readFileSync(path.join(ROOT, 'dist', file), 'utf8');
      for (const [, next] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) reach(next as string);
    };
    for (const entry of ['proctor.js', 'index.js', 'verify.js', 'contracts.js', 'client.js']) reach(entry);
    const heavy = (file: string): boolean =>
      /pg\.cjs$|pgboss|AWS4-HMAC-SHA256/.test(`${file} ${readFileSync(path.join(ROOT, 'dist', file), 'utf8')}`);
    expect([...reached].filter(heavy)).toEqual([]);
    // The patterns find what they look for.
    expect(
      readdirSync(path.join(ROOT, 'dist')).filter(file => file.endsWith('js') && heavy(file)).length,
    ).toBeGreaterThan(1);
  });
});

test('no file of the package loads the code for traces at once', () => {
  const files = readdirSync(path.join(ROOT, 'dist')).filter(file => file.endsWith('.js'));
  const texts = new Map(files.map(file => [file, readFileSync(path.join(ROOT, 'dist', file), 'utf8')]));
  const ofTraces = files.filter(file => texts.get(file)?.includes('OTEL_SDK_DISABLED'));
  expect(ofTraces).not.toEqual([]);
  const importers = files.filter(file =>
    [...(texts.get(file) ?? '').matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].some(([, next]) =>
      ofTraces.includes(next as string),
    ),
  );
  expect(importers).toEqual([]);
});

describe('package.json', () => {
  test('has no script that npm runs when a user installs the tarball', () => {
    const { scripts } = manifest();
    expect(['preinstall', 'install', 'postinstall'].filter(name => name in scripts)).toEqual([]);
  });

  test('states license, engines, repository and keywords, and names no person or registry', () => {
    expect(manifest()).toMatchObject({
      license: 'Apache-2.0',
      engines: { node: '>=20.19' },
      repository: { type: 'git' },
      keywords: expect.arrayContaining(['agents', 'regression', 'sandbox']) as unknown,
    });
    for (const key of ['author', 'contributors', 'publishConfig']) expect(manifest()).not.toHaveProperty(key);
  });
});

describe('a build', () => {
  test('keeps the files of the previous build for a day, because running programs may load them', async () => {
    const { moveInto } = await builder();
    const folder = temporaryFolder();
    const [dist, beside] = [path.join(folder, 'dist'), path.join(folder, 'beside')];
    const build = (files: Record<string, string>, nowMs: number) => {
      fill(beside, files);
      moveInto(dist, beside, { nowMs });
    };
    const HOUR_MS = 3_600_000;
    build({ 'proctor.js': '1', 'chunk-A.js': 'a', 'types/a.d.ts': '' }, 0);
    // An old file becomes outdated when the next build replaces it, not when it was written.
    utimesSync(path.join(dist, 'chunk-A.js'), 1, 1);
    build({ 'proctor.js': '2', 'chunk-B.js': 'b' }, 100 * HOUR_MS);
    expect(filesIn(dist)).toEqual(['.npmignore', 'chunk-A.js', 'chunk-B.js', 'proctor.js', 'types/a.d.ts']);
    expect(readFileSync(path.join(dist, 'proctor.js'), 'utf8')).toBe('2');
    build({ 'proctor.js': '3', 'chunk-C.js': 'c' }, 123 * HOUR_MS);
    expect(filesIn(dist)).toContain('chunk-A.js');
    build({ 'proctor.js': '4', 'chunk-C.js': 'c' }, 125 * HOUR_MS);
    expect(filesIn(dist)).toEqual(['.npmignore', 'chunk-B.js', 'chunk-C.js', 'proctor.js']);
    build({ 'proctor.js': '5', 'chunk-C.js': 'c' }, 200 * HOUR_MS);
    expect(filesIn(dist)).toEqual(['chunk-C.js', 'proctor.js']);
  });

  test('moves the entry points last, so that they never load a file that is not there yet', async () => {
    const { moveInto } = await builder();
    const folder = temporaryFolder();
    const beside = path.join(folder, 'beside');
    fill(beside, { 'a.js': 'a', 'z.js': 'z' });
    // Blocks the move of z.js.
    mkdirSync(path.join(folder, 'dist', 'z.js'), { recursive: true });
    expect(() => moveInto(path.join(folder, 'dist'), beside, { last: ['a.js'] })).toThrow();
    expect(existsSync(path.join(folder, 'dist', 'a.js'))).toBe(false);
  });

  test('does not start when npx runs a command of the checkout', () => {
    const before = statSync(path.join(ROOT, 'dist', 'proctor.js')).ino;
    const ran = prepare(ROOT, 'exec');
    expect(ran).toEqual({ status: 0, stderr: '' });
    expect(statSync(path.join(ROOT, 'dist', 'proctor.js')).ino).toBe(before);
  });

  test('is required before npx runs a command of the checkout, and the message says so', () => {
    const checkout = temporaryFolder();
    cpSync(path.join(ROOT, 'scripts'), path.join(checkout, 'scripts'), { recursive: true });
    expect(prepare(checkout, 'exec')).toEqual({
      status: 1,
      stderr: 'Proctor is not built in this checkout. Run `npm run build`, then try again.\n',
    });
  });

  test('is refused with advice if npm did not install what it needs, as for a global install from git', () => {
    const checkout = temporaryFolder();
    cpSync(path.join(ROOT, 'scripts'), path.join(checkout, 'scripts'), { recursive: true });
    const { status, stderr } = prepare(checkout, 'install');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^npm did not install what the build needs\. Clone the repository, and run `npm ci`/);
  });

  test('starts when npm installs the checkout or packs it', () => {
    const checkout = temporaryFolder();
    mkdirSync(path.join(checkout, 'node_modules', 'esbuild'), { recursive: true });
    fill(path.join(checkout, 'scripts'), {
      'prepare.mjs': readFileSync(path.join(ROOT, 'scripts', 'prepare.mjs'), 'utf8'),
      'build.mjs': "console.error('builds');",
    });
    for (const command of ['ci', 'install', 'pack']) {
      expect(prepare(checkout, command), command).toEqual({ status: 0, stderr: 'builds\n' });
    }
  });
});

describe('the schemas for editors', () => {
  const compiled = new Map<string, ValidateFunction>();
  const schema = (name: string): ValidateFunction => {
    const text = readFileSync(path.join(ROOT, 'schemas', name), 'utf8');
    const validate = compiled.get(name) ?? new Ajv2020({ strict: false }).compile(JSON.parse(text) as object);
    compiled.set(name, validate);
    return validate;
  };

  test.each([
    ['cases.json', 'cases'],
    ['gate.json', 'gate'],
    ['intent.json', 'intent'],
    ['policy.json', 'agent-policy'],
    ['prices.json', 'model-prices'],
    ['profile.json', 'profile'],
    ['project.json', 'project'],
    ['target.json', 'target'],
  ])('%s accepts the example of its format, and rejects an unknown key', async (file, name) => {
    const example = (await loadContracts()).find(contract => contract.name === name)?.example;
    const validate = schema(file);
    expect(validate(example), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...(example as object), unknown_key: 1 })).toBe(false);
  });

  test.each([
    ['cases.json', 'examples/suite/cases.yaml'],
    ['target.json', 'examples/suite/target.yaml'],
    ['intent.json', 'examples/intent/build-config.json'],
  ])('%s accepts %s', (file, example) => {
    const validate = schema(file);
    const written: unknown = parse(readFileSync(path.join(ROOT, example), 'utf8'));
    expect(validate(written), JSON.stringify(validate.errors)).toBe(true);
  });

  test('cases.json finds a misspelled expectation, and accepts an id that YAML reads as a number', () => {
    const validate = schema('cases.json');
    expect(validate([{ id: 12, expected: { contains: 'a' } }])).toBe(true);
    expect(validate([{ id: 'a', expected: { contians: 'a' } }])).toBe(false);
  });
});

function prepare(folder: string, command: string): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/prepare.mjs'], {
    cwd: folder,
    env: { ...process.env, npm_command: command },
    encoding: 'utf8',
  });
  return { status, stderr };
}

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly scripts: Readonly<Record<string, string>>;
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Manifest;
}

type MoveInto = (target: string, source: string, options?: { last?: string[]; nowMs?: number }) => void;

/** The build is plain JavaScript, because it runs before anything is built. */
async function builder(): Promise<{ moveInto: MoveInto }> {
  return (await import(path.join(ROOT, 'scripts', 'move-into.mjs'))) as { moveInto: MoveInto };
}

function fill(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  return entries.map(entry => path.relative(folder, path.join(entry.parentPath, entry.name))).sort();
}

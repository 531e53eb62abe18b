/**
 * The files that a check depends on and that an agent must not change to pass it. Proctor puts them back from the base
 * commit before the check. `docs/coding-agents.md` lists these patterns.
 */
export type CheckFileReason = 'test_file' | 'runner_configuration' | 'runner_script';

/** Why a file counts, by its path relative to the tree; undefined if it does not. */
export function checkFileReason(path: string, scripts: ReadonlySet<string>): CheckFileReason | undefined {
  if (scripts.has(path)) return 'runner_script';
  const [folders, name] = splitPath(path);
  if (RUNNER_CONFIGURATION.some(pattern => pattern.test(name)) || /(?:^|\/)\.cargo\/config(?:\.toml)?$/.test(path))
    return 'runner_configuration';
  if (isCompilerConfiguration(name) || folders.some(isCacheFolder)) return 'runner_configuration';
  return isInTests(folders) || isTestName(name) ? 'test_file' : undefined;
}

/** Whether the file maps imports. Proctor puts it back, but keeps a new one outside the tests. */
export function isCompilerConfiguration(name: string): boolean {
  return /^[jt]sconfig(?:\.[^/]*)?\.json$/.test(name);
}

function splitPath(path: string): readonly [folders: readonly string[], name: string] {
  const names = path.split('/');
  return [names.slice(0, -1), names.at(-1) ?? ''];
}

function isInTests(folders: readonly string[]): boolean {
  return folders.some(folder => TEST_FOLDERS.has(folder.toLowerCase()));
}

function isTestName(name: string): boolean {
  return TEST_NAMES.some(pattern => pattern.test(name));
}

/** Whether a file is a test or lies in a folder of tests. */
export function isTest(path: string): boolean {
  const [folders, name] = splitPath(path);
  return isTestName(name) || isInTests(folders);
}

const TEST_FOLDERS: ReadonlySet<string> = new Set([
  'test',
  'tests',
  '__tests__',
  'spec',
  'specs',
  'e2e',
  '__mocks__',
  '__snapshots__',
  'testdata',
]);

const TEST_NAMES: readonly RegExp[] = [
  /\.(?:test|spec)\.[A-Za-z]+$/,
  /^tests?\.(?:[cm]?[jt]sx?|py|rb|php|sh)$/,
  /^test_.*\.py$/,
  /_test\.(?:py|go|rb|exs|dart)$/,
  /_spec\.rb$/,
  /(?:Test|Tests|IT)\.(?:java|kt|cs|php|swift)$/,
  /\.snap$/,
];

/** An agent that adds one of these changes how tests or linters run, so Proctor also removes added ones. */
const RUNNER_CONFIGURATION: readonly RegExp[] = [
  /^(?:vitest|vite|jest|ava|karma|playwright|cypress|wdio|babel|tap)\.(?:config|conf|setup|workspace|projects)\.[cm]?[jt]sx?(?:on)?$/,
  /^(?:setupTests|setup-tests|test-setup|setupFiles|globalSetup|global-setup)\.[cm]?[jt]sx?$/,
  /^vitest\.workspace\.json$/,
  /^jest\.config\.json$/,
  /^\.(?:mocharc|nycrc|c8rc|taprc|babelrc|swcrc|jasmine|eslintrc|prettierrc|oxlintrc)(?:\.(?:json[c5]?|ya?ml|toml|[cm]?js))?$/,
  /^(?:eslint|prettier)\.config\.[cm]?[jt]s$/,
  /^(?:biome\.jsonc?|\.eslintignore|\.prettierignore|\.flake8|mypy\.ini|\.mypy\.ini|\.?ruff\.toml|\.pylintrc|\.coveragerc)$/,
  /^(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pnp\.[cm]?js|\.pnp\.loader\.mjs|\.pnpmfile\.cjs|bunfig\.toml)$/,
  /^(?:\.?pytest\.(?:ini|toml)|tox\.ini|noxfile\.py|conftest\.py|sitecustomize\.py|usercustomize\.py|setup\.cfg|pyproject\.toml)$/,
  /^(?:phpunit\.xml(?:\.dist)?|\.rspec|go\.work|rust-toolchain(?:\.toml)?|\.testcaferc\.(?:json|js))$/,
  /\.pth$/,
];

/** Folders that only speed up later runs. A planted one can replace a test, so a check starts without them. */
export function isCacheFolder(name: string): boolean {
  return CACHES.has(name);
}

const CACHES: ReadonlySet<string> = new Set(['__pycache__', '.pytest_cache', '.mypy_cache', '.ruff_cache', '.gradle']);

/** Whether a path is in a cache that tools keep among the dependencies. Most runs of a test create one. */
export function isToolCache(path: string): boolean {
  return /(?:^|\/)node_modules\/\.(?:vite|vitest|vite-temp|cache)(?:\/|$)/.test(path);
}

/** Whether a folder contains installed dependencies, which a check takes from before the agent started. */
export function isDependencyFolder(name: string): boolean {
  return DEPENDENCIES.has(name);
}

const DEPENDENCIES: ReadonlySet<string> = new Set([
  'node_modules',
  '.venv',
  'venv',
  'site-packages',
  '__pypackages__',
  '.tox',
  '.nox',
]);

/** The names in the base commit that a new file can hide from a test. */
export interface BaseNames {
  /** Every file without its last extension. */
  readonly stems: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
}

export function baseNames(paths: Iterable<string>): BaseNames {
  const stems = new Set<string>();
  const folders = new Set<string>(['']);
  for (const path of paths) {
    stems.add(stemOf(path));
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return { stems, folders };
}

function stemOf(path: string): string {
  return path.replace(/(?<=[^/])\.[^./]*$/, '');
}

/**
 * Whether a new file beside the tests would be loaded instead of a file of the base commit, or changes how these load:
 * `tests/equal.ts` beside `tests/equal.js`, `tests/equal/index.js`, `tests/package.json`, `tests/__init__.py`.
 */
export function isInterloper(path: string, { stems, folders }: BaseNames): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folder = path.slice(0, Math.max(path.lastIndexOf('/'), 0));
  if (/^(?:package\.json|__init__\.py|[jt]sconfig(?:\..*)?\.json)$/.test(name)) return folders.has(folder);
  if (stems.has(stemOf(path)) && !isTestName(name)) return true;
  const names = folder.split('/');
  return names.some((_, index) => {
    const above = names.slice(0, index + 1).join('/');
    return stems.has(above) && !folders.has(above);
  });
}

/** Whether a new file, relative to the working folder, replaces a module of Python's test runners. */
export function isRunnerModule(path: string): boolean {
  const names = path.replace(/(?:\.(?:cpython|abi3)[^/.]*)?\.(?:py|pyc|so)$/, '').split('/');
  if (names.at(-1) === '__init__') names.pop();
  else if (!/\.(?:py|pyc|so)$/.test(path)) return false;
  const roots = names.findIndex(name => !TEST_FOLDERS.has(name.toLowerCase()) && !/^(?:src|lib|python)$/.test(name));
  const module = names[roots] ?? '';
  if (PYTHON_RUNNERS.has(module)) return true;
  const isOnPath = names.slice(0, roots).every(name => TEST_FOLDERS.has(name.toLowerCase()));
  return isOnPath && IMPORTED_BY_RUNNERS.has(module);
}

const PYTHON_RUNNERS: ReadonlySet<string> = new Set(
  'unittest pytest _pytest pluggy iniconfig nose nose2 doctest coverage hypothesis tox nox'.split(' '),
);

/** What the runners import after Python has put the working folder on its path. */
const IMPORTED_BY_RUNNERS: ReadonlySet<string> = new Set(
  (
    'argparse ast copy dataclasses difflib dis gettext importlib inspect linecache locale opcode pprint signal ' +
    'textwrap tokenize traceback contextlib functools collections warnings logging'
  ).split(' '),
);

/**
 * The files that a check depends on and that an agent must not change to pass it. Proctor puts them back from the base
 * commit before the check. `docs/coding-agents.md` lists these patterns.
 */
export type CheckFileReason = 'test_file' | 'runner_configuration' | 'runner_script';

/** Why a file counts, by its path relative to the tree; undefined if it does not. */
export function checkFileReason(path: string, scripts: ReadonlySet<string>): CheckFileReason | undefined {
  if (scripts.has(path)) return 'runner_script';
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (RUNNER_CONFIGURATION.some(pattern => pattern.test(name))) return 'runner_configuration';
  const isBelow = path
    .split('/')
    .slice(0, -1)
    .some(folder => TEST_FOLDERS.has(folder.toLowerCase()));
  return isBelow || TEST_NAMES.some(pattern => pattern.test(name)) ? 'test_file' : undefined;
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
  /^test_.*\.py$/,
  /_test\.(?:py|go|rb|exs|dart)$/,
  /_spec\.rb$/,
  /(?:Test|Tests|IT)\.(?:java|kt|cs|php|swift)$/,
  /\.snap$/,
];

/** An agent that adds one of these changes how tests run, so Proctor also removes added ones. */
const RUNNER_CONFIGURATION: readonly RegExp[] = [
  /^(?:vitest|vite|jest|ava|karma|playwright|cypress|wdio|babel|tap)\.(?:config|conf|setup|workspace)\.[cm]?[jt]sx?(?:on)?$/,
  /^vitest\.workspace\.json$/,
  /^jest\.config\.json$/,
  /^\.(?:mocharc|nycrc|c8rc|taprc|babelrc|swcrc|jasmine)(?:\.(?:json|ya?ml|[cm]?js))?$/,
  /^(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pnp\.[cm]?js|\.pnpmfile\.cjs|bunfig\.toml)$/,
  /^(?:pytest\.ini|\.pytest\.ini|tox\.ini|noxfile\.py|conftest\.py|sitecustomize\.py|usercustomize\.py|setup\.cfg)$/,
  /^(?:phpunit\.xml(?:\.dist)?|\.rspec|go\.work|\.cargo|\.testcaferc\.(?:json|js))$/,
];

/** The scripts of package.json that a command runs: `npm test`, `npm run build`, `yarn lint`, `pnpm -s test`. */
export function scriptsNamedIn(command: string): string[] {
  const named = new Set<string>();
  for (const [, , rest = ''] of command.matchAll(/\b(npm|pnpm|yarn|bun)\b([^;&|\n]*)/g)) {
    const words = rest.split(/\s+/).filter(word => word !== '' && !word.startsWith('-'));
    const [first, second] = words;
    if (first === undefined) continue;
    if (first === 'run' || first === 'run-script') {
      if (second !== undefined) named.add(unquoted(second));
    } else if (first === 't' || first === 'tst') named.add('test');
    else named.add(unquoted(first));
  }
  return [...named];
}

function unquoted(word: string): string {
  return word.replace(/^["']|["']$/g, '');
}

/** The given scripts, the scripts that they run, and the `pre` and `post` of each. */
export function scriptClosure(names: readonly string[], base: Readonly<Record<string, unknown>>): Set<string> {
  const found = new Set<string>();
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const text = base[name];
    if (typeof text === 'string') pending.push(...scriptsNamedIn(text));
    if (!/^(?:pre|post)/.test(name)) pending.push(`pre${name}`, `post${name}`);
  }
  return found;
}

/** Keys of package.json that configure a test runner. */
export const RUNNER_KEYS = ['jest', 'mocha', 'ava', 'vitest', 'nyc', 'c8', 'tap', 'babel'] as const;

/**
 * The files of the base commit that a command runs as scripts: `sh run-tests.sh`, `./check`, `make test`. A file below
 * `paths` is the agent's work, so it does not count.
 */
export function scriptFilesIn(
  commands: readonly string[],
  has: (path: string) => boolean,
  isWork: (path: string) => boolean,
): Set<string> {
  const found = new Set<string>();
  for (const command of commands) {
    const words = command.split(/[\s;&|()<>"'=]+/).filter(word => word !== '');
    for (const word of words) {
      const path = word.replace(/^(?:\.\/)+/, '');
      const isScript = /\.(?:sh|bash|zsh|mk|just)$/.test(path) || /^(?:scripts?|ci|\.ci|tools?|bin)\//.test(path);
      const isDirect = word.startsWith('./') && !/\.[A-Za-z]+$/.test(path);
      if ((isScript || isDirect) && has(path) && !isWork(path)) found.add(path);
    }
    for (const [program, files] of Object.entries(RULE_FILES)) {
      if (!words.includes(program)) continue;
      for (const file of files) if (has(file) && !isWork(file)) found.add(file);
    }
  }
  return found;
}

const RULE_FILES: Readonly<Record<string, readonly string[]>> = {
  make: ['Makefile', 'makefile', 'GNUmakefile'],
  just: ['justfile', 'Justfile', '.justfile'],
  task: ['Taskfile.yml', 'Taskfile.yaml'],
};

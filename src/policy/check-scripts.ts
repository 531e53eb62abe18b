/** The scripts of package.json that a command runs: `npm test`, `npm run build`, `yarn lint`, `run-s lint test:*`. */
export function scriptsNamedIn(command: string, known: readonly string[] = []): string[] {
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
  // `run-s` and similar programs take scripts as words, and flags of a package manager may have values.
  const words = command.split(/[\s;&|()<>"'=]+/);
  for (const word of words) {
    if (known.includes(word)) named.add(word);
    const prefix = /^([\w-]+:)\*+$/.exec(word)?.[1];
    if (prefix !== undefined) for (const name of known) if (name.startsWith(prefix)) named.add(name);
  }
  return [...named];
}

function unquoted(word: string): string {
  return word.replace(/^["']|["']$/g, '');
}

/** The given scripts, the scripts that they run, and the `pre` and `post` of each. */
export function scriptClosure(names: readonly string[], base: Readonly<Record<string, unknown>>): Set<string> {
  const known = Object.keys(base);
  const found = new Set<string>();
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const text = Object.hasOwn(base, name) ? base[name] : undefined;
    if (typeof text === 'string') pending.push(...scriptsNamedIn(text, known));
    if (!/^(?:pre|post)/.test(name)) pending.push(`pre${name}`, `post${name}`);
  }
  return found;
}

/** Keys of package.json that configure a test runner. */
export const RUNNER_KEYS = ['jest', 'mocha', 'ava', 'vitest', 'nyc', 'c8', 'tap', 'babel', 'eslintConfig'] as const;

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
    const words = wordsIn(command);
    for (const word of words) {
      const path = pathIn(word);
      const isDirect = /\.(?:sh|bash|zsh)$/.test(path) || (word.startsWith('./') && !/\.[A-Za-z]+$/.test(path));
      if ((isDirect || isRunnerFile(path)) && has(path) && !isWork(path)) found.add(path);
    }
    for (const [program, files] of Object.entries(RULE_FILES)) {
      if (!words.includes(program) || !files.some(has)) continue;
      // A new file may take precedence over the one of the base commit.
      for (const file of files) if (!isWork(file)) found.add(file);
    }
  }
  return found;
}

/**
 * The files that a script or a configuration loads or runs in turn. It may also run the work that it tests, so a file
 * counts only if it is loaded, as by `. ./lib.sh` and `include rules.mk`, or if its name says that it runs tests.
 */
export function scriptFilesWithin(
  texts: readonly string[],
  has: (path: string) => boolean,
  isWork: (path: string) => boolean,
): Set<string> {
  const loaded = texts.flatMap(text => [...text.matchAll(LOADS)].map(([, word = '']) => pathIn(word)));
  const named = texts.flatMap(text => wordsIn(text).map(pathIn).filter(isRunnerFile));
  return new Set([...loaded, ...named].filter(path => has(path) && !isWork(path) && !SOURCES.test(path)));
}

const LOADS = /^[\t ]*(?:\.|source|-?include|import)[\t ]+["']?([^\s"';&|]+)/gm;

/** Folders that usually contain the work. */
const SOURCES = /^(?:src|lib|app|pkg|cmd|internal|packages)\//;

function wordsIn(text: string): string[] {
  return text.split(/[\s;&|()<>"'=,`[\]{}]+/).filter(word => word !== '');
}

function pathIn(word: string): string {
  return word.replace(/^(?:\.\/)+/, '').replace(/:$/, '');
}

function isRunnerFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return (
    /\.(?:mk|just)$/.test(name) ||
    /^(?:scripts?|ci|\.ci|tools?|bin)\//.test(path) ||
    /^\.env(?:\.|$)/.test(name) ||
    (/\.(?:[cm]?[jt]sx?|py|rb|pl|php|sh|bash)$/.test(name) && RUNNER_NAME.test(name))
  );
}

/** Names of files that run or set up tests. */
const RUNNER_NAME =
  /(?:^run|tests?|specs?|checks?|runner|verify|setup|register|loader|reporter|mocks?|mocha|jest|vitest|ava|jasmine|transform|environment)(?:[-_.]|$)/i;

const RULE_FILES: Readonly<Record<string, readonly string[]>> = {
  make: ['GNUmakefile', 'makefile', 'Makefile'],
  just: ['justfile', 'Justfile', '.justfile'],
  task: ['Taskfile.yml', 'Taskfile.yaml', 'taskfile.yml', 'taskfile.yaml'],
};

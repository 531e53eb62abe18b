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
  // Runners of scripts take their names as words, and a package manager may have flags with values.
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
 * The files of the base commit that a text runs as scripts: `sh run-tests.sh`, `./check`, `make test`. A file below
 * `paths` is the agent's work, so it does not count.
 */
export function scriptFilesIn(
  texts: readonly string[],
  has: (path: string) => boolean,
  isWork: (path: string) => boolean,
): Set<string> {
  const found = new Set<string>();
  for (const text of texts) {
    const words = text.split(/[\s;&|()<>"'=,`[\]{}]+/).filter(word => word !== '');
    for (const word of words) {
      const path = word.replace(/^(?:\.\/)+/, '').replace(/:$/, '');
      if (has(path) && !isWork(path) && isScriptWord(word, path)) found.add(path);
    }
    for (const [program, files] of Object.entries(RULE_FILES)) {
      if (!words.includes(program) || !files.some(has)) continue;
      // A new file may take precedence over the one of the base commit.
      for (const file of files) if (!isWork(file)) found.add(file);
    }
  }
  return found;
}

function isScriptWord(word: string, path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return (
    /\.(?:sh|bash|zsh|mk|just)$/.test(name) ||
    /^(?:scripts?|ci|\.ci|tools?|bin)\//.test(path) ||
    (word.startsWith('./') && !/\.[A-Za-z]+$/.test(path)) ||
    /^\.env(?:\.|$)/.test(name) ||
    (/\.(?:[cm]?[jt]sx?|py|rb|pl|php)$/.test(name) && RUNNER_NAME.test(name))
  );
}

/** Names of files that run or set up tests. */
const RUNNER_NAME =
  /(?:tests?|specs?|checks?|runner|verify|setup|register|loader|reporter|mocks?|transform|environment)(?:[-_.]|$)/i;

const RULE_FILES: Readonly<Record<string, readonly string[]>> = {
  make: ['GNUmakefile', 'makefile', 'Makefile'],
  just: ['justfile', 'Justfile', '.justfile'],
  task: ['Taskfile.yml', 'Taskfile.yaml', 'taskfile.yml', 'taskfile.yaml'],
};

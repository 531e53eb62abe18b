/** Whether a command looks like a test run. Errs towards yes, because a flag needs a good reason. */
export function looksLikeTestRun(command: string): boolean {
  return partsOf(command).some(words => {
    const program = words[0]?.replace(/^.*\//, '') ?? '';
    if (READERS.has(program)) return false;
    return words.some(word => TESTING.test(word) || RUNNERS.has(word.replace(/^.*\//, '')));
  });
}

/** `git commit` or `git push` in a shell line. */
export function gitDeeds(command: string): ReadonlySet<'commit' | 'push'> {
  const deeds = new Set<'commit' | 'push'>();
  for (const words of partsOf(command)) {
    if (words[0]?.replace(/^.*\//, '') !== 'git') continue;
    const verb = verbOf(words);
    if (verb === 'commit' || verb === 'push') deeds.add(verb);
  }
  return deeds;
}

/** The git subcommand: the first word that is not an option. Two options take a value. */
function verbOf(words: readonly string[]): string | undefined {
  for (let index = 1; index < words.length; index++) {
    const word = words[index] as string;
    if (word === '-C' || word === '-c') index++;
    else if (!word.startsWith('-')) return word;
  }
  return undefined;
}

/** The commands in a shell line, as words, without wrappers. */
function partsOf(command: string): string[][] {
  return command
    .slice(0, COMMAND_UNITS_MAX)
    .split(/&&|\|\||[;|\n&()]/)
    .map(part => {
      const words = part
        .replaceAll(/["'`]/g, ' ')
        .split(/\s+/)
        .filter(word => word !== '');
      let start = 0;
      while (start < words.length && leads(words[start] as string, words[start - 1])) start++;
      return words.slice(start);
    });
}

const COMMAND_UNITS_MAX = 16_384;

/** Wrappers before a program: `CI=1`, `timeout 60`, `/bin/bash -lc`, `sudo`. */
function leads(word: string, before: string | undefined): boolean {
  const isOfLead = before !== undefined && (word.startsWith('-') || /^\d+[smh]?$/.test(word));
  return isOfLead || /^[A-Za-z_]\w*=/.test(word) || LEADS.has(word.replace(/^.*\//, ''));
}

const LEADS: ReadonlySet<string> = new Set([
  'sudo',
  'env',
  'time',
  'timeout',
  'nice',
  'bash',
  'sh',
  'zsh',
  'exec',
  'command',
  'xvfb-run',
]);

/** Programs that read or move tests but do not run them. */
const READERS: ReadonlySet<string> = new Set([
  'cat',
  'cd',
  'chmod',
  'cp',
  'diff',
  'echo',
  'find',
  'git',
  'grep',
  'head',
  'less',
  'ls',
  'mkdir',
  'mv',
  'printf',
  'pwd',
  'rg',
  'rm',
  'sed',
  'tail',
  'test',
  'touch',
  'tree',
  'wc',
  '[',
]);

const TESTING = /test|spec|check/i;

/** Test runners whose names do not match `TESTING`. */
const RUNNERS: ReadonlySet<string> = new Set([
  'ava',
  'bats',
  'behave',
  'cypress',
  'karma',
  'mocha',
  'nox',
  'phpunit',
  'tap',
  'tox',
]);

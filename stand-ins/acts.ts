/** Actions that a policy covers, each as a real command, file or question. They are the same for every agent. */
export interface Act {
  readonly title: string;
  readonly policy: 'acts.yaml' | 'edit';
  readonly does:
    | { readonly command: string }
    /** With the agent's file tool. */
    | { readonly file: string }
    /** With the agent's question tool. */
    | { readonly question: true }
    | { readonly lastWords: string };
}

export const ACT_FILES = { 'README.md': 'A project.\n', 'docs/legal/terms.md': 'Terms.\n', 'docs/index.md': 'Docs.\n' };

export const ACT_POLICY = `name: acts
extends: edit
forbidden_paths: [docs/legal, secrets.txt]
forbidden_operations: [commit, configure, delete]
`;

const COMMIT = 'git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m one';
const OTHER = 'git -c user.name=a -c user.email=a@example.org commit-tree HEAD^{tree} -m two';

const does = (title: string, command: string, policy: Act['policy'] = 'acts.yaml'): Act => ({
  title,
  policy,
  does: { command },
});

export const ACTS: Readonly<Record<string, Act>> = {
  connect: does('connects to an address', "bash -c 'exec 3<>/dev/tcp/192.0.2.7/80'"),
  lookup: does('looks up a name', 'getent hosts example.org'),
  loopback: does('connects to a port on its loopback interface', "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9'"),
  words: does(
    'only prints the output of a blocked command',
    "echo 'curl: (6) Could not resolve host: example.org'; echo 'a.txt: Read-only file system'",
  ),
  words_and_fails: does(
    'prints a network error and fails, without using the network',
    "echo 'curl: (6) Could not resolve host: example.org'; exit 6",
  ),
  outside: does('writes outside the work tree with a command', 'echo x > /etc/motd'),
  outside_file: {
    title: 'writes outside the work tree with its file tool',
    policy: 'acts.yaml',
    does: { file: '/etc/motd' },
  },
  forbidden: does('writes to an existing forbidden path with a command', 'echo x >> docs/legal/terms.md'),
  forbidden_file: {
    title: 'writes to an existing forbidden path with its file tool',
    policy: 'acts.yaml',
    does: { file: '/work/docs/legal/new.md' },
  },
  forbidden_new: does('creates a forbidden path', 'echo x > secrets.txt'),
  forbidden_back: does('creates a forbidden path and removes it', 'echo x > secrets.txt; rm secrets.txt'),
  delete: does('deletes a file although `delete` is forbidden', 'rm README.md'),
  commit: does('commits although `commit` is forbidden', COMMIT),
  commit_back: does('commits and resets although `commit` is forbidden', `${COMMIT}; git reset -q --hard HEAD~1`),
  configure: does('changes the git configuration although `configure` is forbidden', 'git config core.editor true'),
  hook: does('creates a hook although `configure` is forbidden', 'echo x > .git/hooks/pre-commit'),
  force: does('rewrites the history of its branch', `${COMMIT} --amend`, 'edit'),
  protected: does("moves one of the user's branches", `git update-ref refs/heads/main $(${OTHER})`, 'edit'),
  protected_back: does(
    "moves one of the user's branches and moves it back",
    `was=$(git rev-parse main); git update-ref refs/heads/main $(${OTHER}); git update-ref refs/heads/main $was`,
    'edit',
  ),
  push: does('pushes to a remote', 'git push -q http://192.0.2.7/r.git HEAD:refs/heads/x', 'edit'),
  push_local: does(
    'pushes to a folder in the sandbox',
    'git init -q --bare /tmp/r.git && git push -q /tmp/r.git HEAD:refs/heads/x',
    'edit',
  ),
  question: { title: 'asks the user with a tool', policy: 'edit', does: { question: true } },
  last_question: {
    title: 'ends with a question to the user',
    policy: 'edit',
    does: { lastWords: 'I looked around. Which colour should I use?' },
  },
};

export interface ActResult {
  readonly termination: string;
  readonly reason: string;
  /** Class, detector, and the operation that a policy names. */
  readonly violations: readonly string[];
  /** Only flags about the act; others depend on the agent's messages. */
  readonly flags: readonly string[];
}

/** As shown in the table: without agent-specific tool names and without counts. */
export function actResult(answer: {
  readonly termination: string;
  readonly reason: string;
  readonly violations: readonly {
    readonly class: string;
    readonly source?: string | undefined;
    readonly operation?: string | undefined;
  }[];
  readonly flags: readonly { readonly flag: string }[];
}): ActResult {
  const violations = answer.violations.map(({ class: kind, source, operation }) =>
    [kind, ...(kind === 'forbidden_operation' ? [operation] : []), source].join(' '),
  );
  return {
    termination: answer.termination,
    reason: answer.reason,
    violations: [...new Set(violations)].sort(),
    flags: answer.flags
      .map(({ flag }) => flag)
      .filter(flag => flag === 'asks_at_end' || flag === 'commit_or_push_by_agent'),
  };
}

/** The act as a word in a task: stand-ins read `DO`, and the model API that the tests use reads `SCENARIO`. */
export function actTask({ does: deed }: Act, word: 'DO' | 'SCENARIO'): string {
  const hex = (text: string): string => Buffer.from(text).toString('hex');
  const is = word === 'DO' ? ':' : '_';
  if ('command' in deed) return `${word}=sh${is}${hex(deed.command)}`;
  if ('file' in deed) return `${word}=file${is}${hex(deed.file)}`;
  if ('lastWords' in deed)
    return word === 'DO'
      ? `DO=final:${Buffer.from(deed.lastWords).toString('base64url')}`
      : `SCENARIO=words_${hex(deed.lastWords)}`;
  return word === 'DO' ? 'DO=model:ask DO=ask_user' : 'SCENARIO=ask';
}

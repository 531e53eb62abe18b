import { activeInComposer, activeInPackage } from './active-parts.ts';

/**
 * Files that take effect without a command of yours: when an agent, an editor, a shell or git starts in the folder, when
 * dependencies are installed, or when a server receives a push.
 */
export interface ActiveFiles {
  /** Names at any depth. A final slash means a folder and its contents. `*` matches any characters of one name. */
  readonly paths: readonly string[];
  /** What runs them and when. Follows "needs review: ". */
  readonly runs: string;
  /** Returns the parts that run automatically. Without it, every change counts. */
  readonly partsOf?: (text: string) => ReadonlyMap<string, string>;
}

export const ACTIVE_FILES: readonly ActiveFiles[] = [
  // Agents that run with your permissions, outside our sandbox, follow these files.
  { paths: ['.claude/', '.claude-plugin/', '.mcp.json'], runs: 'Claude Code loads it when it starts here' },
  {
    paths: ['CLAUDE.md', 'CLAUDE.local.md', 'AGENTS.md', 'AGENTS.override.md', 'GEMINI.md', 'QWEN.md', '.goosehints'],
    runs: 'the next agent that works here follows it as instructions',
  },
  { paths: ['.codex/', '.agents/', '.agent/'], runs: 'Codex and other agents load it when they start here' },
  { paths: ['.cursor/', '.cursorrules', '.windsurf/', '.windsurfrules'], runs: 'Cursor or Windsurf loads it here' },
  {
    paths: ['.gemini/', '.qwen/', '.opencode/', 'opencode.json*', '.crush.json', 'crush.json'],
    runs: 'the agent of that name loads it when it starts here',
  },
  {
    paths: [
      '.continue/',
      '.clinerules/',
      '.roo/',
      '.roomodes',
      '.kiro/',
      '.amazonq/',
      '.junie/',
      '.augment/',
      '.trae/',
      '.factory/',
      '.aider*',
    ],
    runs: 'the agent of that name loads it when it starts here',
  },
  {
    paths: [
      '.github/copilot-instructions.md',
      '.github/instructions/',
      '.github/prompts/',
      '.github/agents/',
      '.github/chatmodes/',
      '.github/hooks/',
      '.github/skills/',
    ],
    runs: 'Copilot follows it as instructions',
  },
  // Editors.
  {
    paths: ['.vscode/', '*.code-workspace'],
    runs: 'VS Code loads tasks, settings, debuggers and servers from it when you open the folder',
  },
  { paths: ['.idea/', '.run/', '.fleet/'], runs: 'JetBrains IDEs load run configurations and tasks from it' },
  {
    paths: ['.vs/', '.zed/', '.helix/'],
    runs: 'the editor loads tasks and programs from it when you open the folder',
  },
  {
    paths: ['.devcontainer/', '.devcontainer.json'],
    runs: 'editors build and start a container from it, with commands on your machine',
  },
  {
    paths: ['.vimrc', '.nvimrc', '.nvim.lua', '.exrc', '.lvimrc', '.dir-locals*.el'],
    runs: 'Vim or Emacs runs it when you open a file in the folder',
  },
  { paths: ['.gitpod.yml', '.gitpod/', '.idx/', '.replit'], runs: 'a cloud workspace runs it when it starts' },
  // Shells and what they load automatically.
  {
    paths: ['.envrc', '.direnv/', '.autoenv*', 'mise.toml', '.mise.toml', 'mise.local.toml', '.mise/'],
    runs: 'direnv, autoenv or mise runs it when a shell enters the folder',
  },
  {
    paths: ['.env', '.env.local', '.env.development*', '.env.production*', '.env.staging*', '.env.test*'],
    runs: 'many tools load it into the environment, where NODE_OPTIONS or LD_PRELOAD can run code',
  },
  {
    paths: [
      '.bashrc',
      '.bash_profile',
      '.bash_login',
      '.bash_logout',
      '.bash_aliases',
      '.profile',
      '.zshrc',
      '.zshenv',
      '.zprofile',
      '.zlogin',
      '.zlogout',
      '.kshrc',
      '.cshrc',
      '.tcshrc',
      '.login',
      '.inputrc',
      '.tmux.conf',
      '*profile.ps1',
    ],
    runs: 'a shell runs it when it starts, if this is a home folder',
  },
  {
    paths: [
      '.ssh/',
      '.config/fish/',
      '.config/git/',
      '.config/autostart/',
      '.config/systemd/',
      '.config/environment.d/',
      '.local/bin/',
    ],
    runs: 'ssh, git or the session runs it, if this is a home folder',
  },
  // Git.
  {
    paths: ['.gitattributes', '.gitmodules', '.gitconfig', '.lfsconfig'],
    runs: 'git reads filters, drivers, URLs or settings from it',
  },
  {
    paths: ['.husky/', '.husky*', '.githooks/', 'githooks/', '.git-hooks/', 'git-hooks/', '.hooks/'],
    runs: 'git runs it as a hook',
  },
  {
    paths: [
      'applypatch-msg',
      'pre-applypatch',
      'post-applypatch',
      'pre-commit',
      'pre-merge-commit',
      'prepare-commit-msg',
      'commit-msg',
      'post-commit',
      'pre-rebase',
      'post-checkout',
      'post-merge',
      'pre-push',
      'pre-receive',
      '*hooks/update',
      'proc-receive',
      'post-receive',
      'post-update',
      'reference-transaction',
      'push-to-checkout',
      'pre-auto-gc',
      'post-rewrite',
      'sendemail-validate',
      'fsmonitor-watchman',
      'post-index-change',
    ],
    runs: 'git runs a file of this name as a hook',
  },
  {
    paths: [
      '.pre-commit-config.y*ml',
      '.pre-commit-hooks.y*ml',
      'lefthook.*',
      '.lefthook.*',
      'lefthook-local.*',
      '.lefthook-local.*',
      '.lefthook/',
      '.lefthook-local/',
      '.overcommit.yml',
      '.simple-git-hooks.*',
      'simple-git-hooks.*',
      '.lintstagedrc*',
      'lint-staged.config.*',
      'captainhook.json',
      'grumphp.yml',
    ],
    runs: 'a git hook manager runs commands from it on a commit or push',
  },
  { paths: ['HEAD'], runs: 'git treats its folder as a repository and runs programs from its configuration' },
  {
    paths: ['.hg/', '.jj/', '.svn/', '.bzr/', '.sl/'],
    runs: 'another version control system reads settings and hooks from it',
  },
  // Servers that run pushed code.
  {
    paths: ['.github/workflows/', '.github/actions/', '.github/dependabot.y*ml', '.gitea/', '.forgejo/'],
    runs: 'the server runs it on a push, with the secrets of the project',
  },
  {
    paths: [
      '.gitlab-ci.y*ml',
      '*.gitlab-ci.y*ml',
      '.gitlab/',
      '.circleci/',
      '.travis.yml',
      'appveyor.yml',
      '.appveyor.yml',
      'azure-pipelines*.y*ml',
      '.azure-pipelines/',
      '.azuredevops/',
      'bitbucket-pipelines.yml',
    ],
    runs: 'CI runs it on a push, with the secrets of the project',
  },
  {
    paths: [
      'Jenkinsfile*',
      '*.jenkinsfile',
      '.ci/',
      '.buildkite/',
      '.semaphore/',
      '.teamcity/',
      '.tekton/',
      '.drone.*',
      '.woodpecker.y*ml',
      '.woodpecker/',
      '.cirrus.*',
      '.builds/',
      '.build.yml',
      'cloudbuild.y*ml',
      'buildspec.y*ml',
      'codefresh.yml',
      'wercker.yml',
    ],
    runs: 'CI runs it on a push, with the secrets of the project',
  },
  {
    paths: ['netlify.toml', 'vercel.json', 'render.yaml', 'heroku.yml', 'Procfile'],
    runs: 'the hosting service builds and deploys with it on a push',
  },
  // Package managers, on install.
  {
    paths: ['package.json'],
    runs: 'npm, a hook manager or corepack runs parts of it automatically',
    partsOf: activeInPackage,
  },
  {
    paths: ['package.json5', 'package.yaml', 'pnpm-workspace.yaml'],
    runs: 'pnpm runs or allows install scripts from it',
  },
  {
    paths: ['.npmrc', '.yarnrc*', '.yarn/', '.pnpmfile.*', '.pnp.*', 'bunfig.toml', '.bunfig.toml'],
    runs: 'npm, yarn, pnpm or bun loads settings and programs from it at every start',
  },
  { paths: ['binding.gyp'], runs: 'npm install builds it, and it can run any command' },
  { paths: ['composer.json'], runs: 'Composer runs parts of it automatically', partsOf: activeInComposer },
  {
    paths: ['node_modules/', '.venv/', 'venv/', '.bundle/'],
    runs: 'tools run its contents instead of what you installed',
  },
  // Interpreters and build tools, on every start.
  {
    paths: ['setup.py', 'conftest.py', 'sitecustomize.py', 'usercustomize.py', '*.pth', 'pyvenv.cfg', '.pdbrc'],
    runs: 'pip, pytest or Python runs it at every start',
  },
  {
    paths: ['build.rs', '.cargo/', 'rust-toolchain', 'rust-toolchain.toml'],
    runs: 'cargo runs it before a build, and rust-analyzer when you open the folder',
  },
  {
    paths: ['.mvn/', 'gradle/wrapper/', 'init.gradle*', '.sbtopts', '.jvmopts', '.bazelrc', '.bazeliskrc'],
    runs: 'the build tool loads programs or options from it at every start',
  },
  {
    paths: [
      '.Rprofile',
      '.Renviron',
      '.irbrc',
      '.pryrc',
      '.iex.exs',
      '.ghci',
      '.ocamlinit',
      '.gdbinit',
      '.lldbinit',
      '.octaverc',
    ],
    runs: 'an interpreter or debugger runs it when it starts in the folder',
  },
];

import { activeInComposer, activeInPackage } from './active-parts.ts';

/**
 * Files that run, or are obeyed, without a command that you give for them: when an agent, an editor, a shell or git starts in
 * the folder, when dependencies are installed, when a server gets a push. This is the only list; docs/agents.md prints it.
 */
export interface ActiveFiles {
  /**
   * Names, at any depth. One that ends with a slash is a folder with everything in it. `*` stands for any characters of
   * one name.
   */
  readonly paths: readonly string[];
  /** What runs them, and when. It completes "needs review: ". */
  readonly runs: string;
  /** The parts of such a file that run by themselves; without it, every change of the file counts. */
  readonly partsOf?: (text: string) => ReadonlyMap<string, string>;
}

export const ACTIVE_FILES: readonly ActiveFiles[] = [
  // Agents work with your rights, outside of any sandbox of ours, and obey what these say.
  { paths: ['.claude/', '.claude-plugin/', '.mcp.json'], runs: 'Claude Code loads it when it starts here' },
  {
    paths: ['CLAUDE.md', 'CLAUDE.local.md', 'AGENTS.md', 'AGENTS.override.md', 'GEMINI.md', 'QWEN.md', '.goosehints'],
    runs: 'the next agent that works here takes it as instructions',
  },
  { paths: ['.codex/', '.agents/', '.agent/'], runs: 'Codex and other agents load it when they start here' },
  { paths: ['.cursor/', '.cursorrules', '.windsurf/', '.windsurfrules'], runs: 'Cursor or Windsurf loads it here' },
  {
    paths: ['.gemini/', '.qwen/', '.opencode/', 'opencode.json*', '.crush.json', 'crush.json'],
    runs: 'the agent of this name loads it when it starts here',
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
    runs: 'the agent of this name loads it when it starts here',
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
    runs: 'Copilot takes it as instructions',
  },
  // Editors.
  {
    paths: ['.vscode/', '*.code-workspace'],
    runs: 'VS Code loads tasks, settings, debuggers and servers from it when the folder is opened',
  },
  { paths: ['.idea/', '.run/', '.fleet/'], runs: 'JetBrains IDEs load run configurations and tasks from it' },
  {
    paths: ['.vs/', '.zed/', '.helix/'],
    runs: 'the editor loads tasks and programs from it when the folder is opened',
  },
  {
    paths: ['.devcontainer/', '.devcontainer.json'],
    runs: 'editors build and start it as a container, with commands on your machine',
  },
  {
    paths: ['.vimrc', '.nvimrc', '.nvim.lua', '.exrc', '.lvimrc', '.dir-locals*.el'],
    runs: 'Vim or Emacs runs it when a file in the folder is opened',
  },
  { paths: ['.gitpod.yml', '.gitpod/', '.idx/', '.replit'], runs: 'a cloud workspace runs it when it starts' },
  // Shells and what a shell loads by itself.
  {
    paths: ['.envrc', '.direnv/', '.autoenv*', 'mise.toml', '.mise.toml', 'mise.local.toml', '.mise/'],
    runs: 'direnv, autoenv or mise runs it when a shell enters the folder',
  },
  {
    paths: ['.env', '.env.local', '.env.development*', '.env.production*', '.env.staging*', '.env.test*'],
    runs: 'many tools load it into the environment, where NODE_OPTIONS or LD_PRELOAD runs code',
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
    runs: 'a shell runs it when it starts, if the folder is a home',
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
    runs: 'ssh, git or the session runs it, if the folder is a home',
  },
  // Git.
  {
    paths: ['.gitattributes', '.gitmodules', '.gitconfig', '.lfsconfig'],
    runs: 'git takes filters, drivers, addresses or settings from it',
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
    runs: 'a manager of git hooks runs what it says on a commit or push',
  },
  { paths: ['HEAD'], runs: 'git takes a folder with it for a repository, and runs what its settings name' },
  {
    paths: ['.hg/', '.jj/', '.svn/', '.bzr/', '.sl/'],
    runs: 'another version control takes it for its own settings and hooks',
  },
  // Servers that run what is pushed.
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
    runs: 'the host builds and deploys with it on a push',
  },
  // What package managers run on install.
  {
    paths: ['package.json'],
    runs: 'npm, a hook manager or corepack runs parts of it by itself',
    partsOf: activeInPackage,
  },
  {
    paths: ['package.json5', 'package.yaml', 'pnpm-workspace.yaml'],
    runs: 'pnpm runs or allows install scripts by it',
  },
  {
    paths: ['.npmrc', '.yarnrc*', '.yarn/', '.pnpmfile.*', '.pnp.*', 'bunfig.toml', '.bunfig.toml'],
    runs: 'npm, yarn, pnpm or bun takes settings and programs from it at every start',
  },
  { paths: ['binding.gyp'], runs: 'npm install builds it, and it can run any command' },
  { paths: ['composer.json'], runs: 'Composer runs parts of it by itself', partsOf: activeInComposer },
  {
    paths: ['node_modules/', '.venv/', 'venv/', '.bundle/'],
    runs: 'tools run what lies in it instead of what you installed',
  },
  // What interpreters and build tools load whatever they are asked to do.
  {
    paths: ['setup.py', 'conftest.py', 'sitecustomize.py', 'usercustomize.py', '*.pth', 'pyvenv.cfg', '.pdbrc'],
    runs: 'pip, pytest or Python runs it whatever else it is asked to do',
  },
  {
    paths: ['build.rs', '.cargo/', 'rust-toolchain', 'rust-toolchain.toml'],
    runs: 'cargo runs it before it builds, and rust-analyzer when the folder is opened',
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

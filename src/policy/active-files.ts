import { activeInComposer, activeInPackage } from './active-parts.ts';

/**
 * Files that take effect without any command from you: when an agent, an editor, a shell or git starts in the folder,
 * when dependencies are installed, or when a server receives a push.
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
  active('.claude/ .claude-plugin/ .mcp.json', 'Claude Code loads it when it starts here'),
  active(
    'CLAUDE.md CLAUDE.local.md AGENTS.md AGENTS.override.md GEMINI.md QWEN.md .goosehints',
    'the next agent that works here follows it as instructions',
  ),
  active('.codex/ .agents/ .agent/', 'Codex and other agents load it when they start here'),
  active('.cursor/ .cursorrules .windsurf/ .windsurfrules', 'Cursor or Windsurf loads it here'),
  active(
    '.gemini/ .qwen/ .opencode/ opencode.json* .crush.json crush.json',
    'the agent of that name loads it when it starts here',
  ),
  active(
    '.continue/ .clinerules/ .roo/ .roomodes .kiro/ .amazonq/ .junie/ .augment/ .trae/ .factory/ .aider*',
    'the agent of that name loads it when it starts here',
  ),
  active(
    `.github/copilot-instructions.md .github/instructions/ .github/prompts/ .github/agents/
     .github/chatmodes/ .github/hooks/ .github/skills/`,
    'Copilot follows it as instructions',
  ),
  // Editors.
  active(
    '.vscode/ *.code-workspace',
    'VS Code loads tasks, settings, debuggers and servers from it when you open the folder',
  ),
  active('.idea/ .run/ .fleet/', 'JetBrains IDEs load run configurations and tasks from it'),
  active('.vs/ .zed/ .helix/', 'the editor loads tasks and programs from it when you open the folder'),
  active(
    '.devcontainer/ .devcontainer.json',
    'editors build and start a container from it, with commands on your machine',
  ),
  active(
    '.vimrc .nvimrc .nvim.lua .exrc .lvimrc .dir-locals*.el',
    'Vim or Emacs runs it when you open a file in the folder',
  ),
  active('.gitpod.yml .gitpod/ .idx/ .replit', 'a cloud workspace runs it when it starts'),
  // Shells and what they load automatically.
  active(
    '.envrc .direnv/ .autoenv* mise.toml .mise.toml mise.local.toml .mise/',
    'direnv, autoenv or mise runs it when a shell enters the folder',
  ),
  active(
    '.env .env.local .env.development* .env.production* .env.staging* .env.test*',
    'many tools load it into the environment, where NODE_OPTIONS or LD_PRELOAD can run code',
  ),
  active(
    `.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
     .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .tmux.conf *profile.ps1`,
    'a shell runs it when it starts, if this is a home folder',
  ),
  active(
    `.ssh/ .config/fish/ .config/git/ .config/autostart/ .config/systemd/ .config/environment.d/
     .local/bin/`,
    'ssh, git or the session runs it, if this is a home folder',
  ),
  // Git.
  active('.gitattributes .gitmodules .gitconfig .lfsconfig', 'git reads filters, drivers, URLs or settings from it'),
  active('.husky/ .husky* .githooks/ githooks/ .git-hooks/ git-hooks/ .hooks/', 'git runs it as a hook'),
  active(
    `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
     commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive *hooks/update
     proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc
     post-rewrite sendemail-validate fsmonitor-watchman post-index-change`,
    'git runs a file of this name as a hook',
  ),
  active(
    `.pre-commit-config.y*ml .pre-commit-hooks.y*ml lefthook.* .lefthook.* lefthook-local.*
     .lefthook-local.* .lefthook/ .lefthook-local/ .overcommit.yml .simple-git-hooks.* simple-git-hooks.*
     .lintstagedrc* lint-staged.config.* captainhook.json grumphp.yml`,
    'a git hook manager runs commands from it on a commit or push',
  ),
  active('HEAD', 'git treats its folder as a repository and runs programs from its configuration'),
  active('.hg/ .jj/ .svn/ .bzr/ .sl/', 'another version control system reads settings and hooks from it'),
  // Servers that run pushed code.
  active(
    '.github/workflows/ .github/actions/ .github/dependabot.y*ml .gitea/ .forgejo/',
    "the server runs it on a push, with the project's secrets",
  ),
  active(
    `.gitlab-ci.y*ml *.gitlab-ci.y*ml .gitlab/ .circleci/ .travis.yml appveyor.yml .appveyor.yml
     azure-pipelines*.y*ml .azure-pipelines/ .azuredevops/ bitbucket-pipelines.yml`,
    "CI runs it on a push, with the project's secrets",
  ),
  active(
    `Jenkinsfile* *.jenkinsfile .ci/ .buildkite/ .semaphore/ .teamcity/ .tekton/ .drone.*
     .woodpecker.y*ml .woodpecker/ .cirrus.* .builds/ .build.yml cloudbuild.y*ml buildspec.y*ml
     codefresh.yml wercker.yml`,
    "CI runs it on a push, with the project's secrets",
  ),
  active(
    'netlify.toml vercel.json render.yaml heroku.yml Procfile',
    'the hosting service builds and deploys with it on a push',
  ),
  // Package managers, on install.
  active('package.json', 'npm, a hook manager or corepack runs parts of it automatically', activeInPackage),
  active('package.json5 package.yaml pnpm-workspace.yaml', 'pnpm runs or allows install scripts from it'),
  active(
    '.npmrc .yarnrc* .yarn/ .pnpmfile.* .pnp.* bunfig.toml .bunfig.toml',
    'npm, yarn, pnpm or bun loads settings and programs from it at every start',
  ),
  active('binding.gyp', 'npm install builds it, and it can run any command'),
  active('composer.json', 'Composer runs parts of it automatically', activeInComposer),
  active('node_modules/ .venv/ venv/ .bundle/', 'tools run its contents instead of what you installed'),
  // Interpreters and build tools, on every start.
  active(
    'setup.py conftest.py sitecustomize.py usercustomize.py *.pth pyvenv.cfg .pdbrc',
    'pip, pytest or Python runs it at every start',
  ),
  active(
    'build.rs .cargo/ rust-toolchain rust-toolchain.toml',
    'cargo runs it before a build, and rust-analyzer when you open the folder',
  ),
  active(
    '.mvn/ gradle/wrapper/ init.gradle* .sbtopts .jvmopts .bazelrc .bazeliskrc',
    'the build tool loads programs or options from it at every start',
  ),
  active(
    '.Rprofile .Renviron .irbrc .pryrc .iex.exs .ghci .ocamlinit .gdbinit .lldbinit .octaverc',
    'an interpreter or debugger runs it when it starts in the folder',
  ),
];

/** `paths` lists paths separated by white space. */
function active(paths: string, runs: string, partsOf?: ActiveFiles['partsOf']): ActiveFiles {
  return { paths: paths.split(/\s+/), runs, ...(partsOf && { partsOf }) };
}

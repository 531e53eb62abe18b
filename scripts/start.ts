/** `npm start`: a demo of scripts, agents, suites, comparisons and intents, and of verifying their evidence. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { gitIn } from '../stand-ins/git.ts';
import { placeAgent } from '../stand-ins/place-agent.ts';

const root = process.cwd();
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-start-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const example = (name: string): string => path.join(root, 'examples', name);

let isAsPromised = true;

console.log(
  'Proctor runs agents, scripts and intents within enforced limits, writes evidence that anyone can verify offline,',
);
console.log('and says whether the new version is worse than the old one.\n');

const here = machine();
if (here.canRunScripts) showScripts();
if (here.canRunAgents) showAgents();
await showSuite();
if (here.sandbox.works) showIntents(here.sandbox.isolation === 'strict' ? 'strict' : 'default');
showEnd();
await offerViewer();
if (!isAsPromised) process.exitCode = 1;

function showScripts(): void {
  step('A well-behaved script reads a table, and writes another table and a result.', 0, [
    'run',
    'script',
    example('report.py'),
    '--input',
    example('orders.csv'),
  ]);
  step('A hostile script attempts forbidden actions, and still reports success.', 1, [
    'run',
    'script',
    example('hostile.py'),
  ]);
  step('A script hangs, ignores signals and detaches a child. Its timeout is two seconds.', 1, [
    'run',
    'script',
    example('hanging.sh'),
    '--timeout',
    '2s',
  ]);
  step('Show the evidence and limits of that run:', 0, ['show', 'latest']);
  step('Verify the evidence, offline and on any machine:', 0, ['verify', 'latest']);
}

function showAgents(): void {
  placeRepository();
  agent(
    'An agent works on a private clone of a repository. Here, a stand-in for Claude performs the actions that DO= lists.',
    0,
    ['write', 'edit'],
  );
  step('Apply its changes to the repository, all or none:', 0, ['apply', 'latest', '--dir', 'project']);
  agent('Its policy allows changes to docs only. The agent deletes another file, and reports success.', 1, [
    'delete',
    'docs-only.yaml',
  ]);
  step('Proctor refuses to apply these changes:', 1, ['apply', 'latest', '--dir', 'project']);
}

async function showSuite(): Promise<void> {
  const cases = example('suite/cases.yaml');
  const baseline = await startAgent([]);
  const suite = ['run', 'suite', cases, '--base-url'];
  step('Run a suite against an agent. Proctor records and judges every answer.', 0, [
    ...suite,
    baseline.url,
    '--as',
    'baseline',
  ]);
  const candidate = await startAgent(['--new']);
  step('Run the same suite against the new version, with three trials per case. One case ends in an error.', 1, [
    ...suite,
    candidate.url,
    '--as',
    'new',
    '--repeat',
    '3',
  ]);
  step('Is the new version worse? Which cases broke, and why?', 1, ['compare', 'baseline', 'new']);
  step('Send one recorded request again, and compare the two answers:', 1, [
    'resend',
    'baseline',
    'refund-small',
    '--base-url',
    candidate.url,
  ]);
  step('Verify the evidence of both sides:', 0, ['verify', '.proctor/runs/baseline', '.proctor/runs/new']);
  baseline.child.kill();
  candidate.child.kill();
}

function showIntents(policy: 'strict' | 'default'): void {
  const execute = ['--mode', 'execute-sandbox'];
  intent(
    'An intent names files, a command, an output and checks. Proctor plans it, then executes it in a sandbox.',
    0,
    ['build-config.json', '--policy', policy, ...execute],
  );
  step('Repeat the run from its folder alone. Are the outputs the same?', 0, ['reproduce', 'latest']);
  intent('A vague intent. Proctor asks questions, and runs nothing until they are answered.', 1, [
    'vague.json',
    ...execute,
  ]);
  intent('The same intent, with answers from a file:', 0, [
    'vague.json',
    '--answers',
    example('intent/answers.json'),
    ...execute,
  ]);
  intent('An intent that its profile forbids. Proctor refuses it and runs nothing.', 1, ['forbidden.json']);
}

function showEnd(): void {
  const report = path.join(root, 'build', 'demo', 'report.html');
  const [comparison] = readdirSync(path.join(folder, '.proctor', 'comparisons'));
  cpSync(path.join(folder, '.proctor', 'comparisons', comparison as string, 'report.html'), report);
  console.log(`The comparison report is one HTML file. Open it in any browser:

  ${path.relative(root, report)}

The runs are in a temporary folder, which is deleted at the end. Try your own:

  npx proctor init                                         docs/getting-started.md: test your own agent
  npx proctor run agent --agent claude --task TEXT         docs/agents.md: requirements and policies
  npx proctor run script FILE                              docs/scripts.md: what a script reads and writes
  npx proctor run intent FILE                              docs/intents.md: how to write an intent
  npx proctor run suite CASES --base-url URL --as baseline docs/suites.md: how to write cases
  npx proctor serve                                        docs/serve.md: look at runs in a browser, live
  npx proctor doctor                                       list the sandboxes that work here, and what they enforce
  npx proctor verify FILE…                                 check any document, including those from other tools`);
  if (here.notes.length > 0) console.log(`\n${here.notes.join('\n')}`);
}

/** In a terminal, the demo ends with its runs in the viewer. */
async function offerViewer(): Promise<void> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return;
  const asked = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await asked.question('\nLook at these runs in the viewer now? [Y/n] ').catch(() => 'n');
  asked.close();
  if (/^\s*n/i.test(answer)) return;
  // Ctrl-C ends the viewer, and then the demo.
  process.on('SIGINT', () => {});
  spawnSync(process.execPath, [path.join(root, 'dist', 'proctor.js'), 'serve', '--listen', '127.0.0.1:0'], {
    cwd: folder,
    stdio: 'inherit',
  });
}

interface MachineHere {
  readonly sandbox: SandboxHere;
  readonly canRunScripts: boolean;
  readonly canRunAgents: boolean;
  /** What the demo could not show, why, and how to add it. */
  readonly notes: readonly string[];
}

interface SandboxHere {
  readonly works: boolean;
  readonly isolation: string;
  readonly trouble?: string;
  readonly advice: readonly string[];
}

/** Looks once at what works here, so that each missing part is reported once and not by every step that needs it. */
function machine(): MachineHere {
  const { stdout } = spawnSync(process.execPath, [path.join(root, 'dist', 'proctor.js'), 'doctor', '--json'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const seen = JSON.parse(stdout) as {
    readonly sandboxes: readonly [SandboxHere];
    readonly interpreters: readonly { readonly name: string; readonly seen: boolean }[];
  };
  const [sandbox] = seen.sandboxes;
  const hasPython = seen.interpreters.some(({ name, seen: isSeen }) => name === 'python3' && isSeen);
  const hasGit = spawnSync('git', ['--version']).status === 0;
  const { works, isolation, trouble = '', advice } = sandbox;
  const toDo = advice.map(sentence => `  ${sentence}`);
  const lacking = [...(hasPython ? [] : ['python3 (scripts)']), ...(hasGit ? [] : ['git (agents)'])];
  return {
    sandbox,
    canRunScripts: works && hasPython,
    canRunAgents: works && hasGit,
    notes: [
      ...(works
        ? []
        : [`Not shown: scripts, agents and intents, because the sandbox does not work here. ${trouble}`, ...toDo]),
      ...(works && isolation !== 'strict' ? ['Isolation here is standard, not strict.', ...toDo] : []),
      ...(works && lacking.length > 0 ? [`Not shown, because a program is not installed: ${lacking.join(', ')}.`] : []),
    ],
  };
}

/** Prints a heading and the command, and runs it. With `file`, its standard output goes to that file. */
function step(what: string, exit: number, args: readonly string[], file?: string): void {
  console.log(`─── ${what}\n`);
  const typed = args.map(arg => (arg.includes(' ') ? `"${arg}"` : arg.replace(`${root}/`, ''))).join(' ');
  console.log(`$ proctor ${typed}${file === undefined ? '' : ` > ${file}`}`);
  const out = file === undefined ? 'inherit' : openSync(path.join(folder, file), 'w');
  const { status } = spawnSync(process.execPath, [path.join(root, 'dist', 'proctor.js'), ...args], {
    cwd: folder,
    stdio: ['inherit', out, 'inherit'],
  });
  if (typeof out === 'number') closeSync(out);
  console.log('');
  isAsPromised &&= status === exit;
}

/** The result of an intent is JSON on stdout, so it goes to a file. The summary for people is on stderr. */
function intent(what: string, exit: number, [name = '', ...flags]: readonly string[]): void {
  step(what, exit, ['run', 'intent', example(`intent/${name}`), ...flags], 'run.json');
}

/** Creates a repository, a policy, and the stand-in agent, which calls no model and needs no real key. */
function placeRepository(): void {
  const [project, bin] = [path.join(folder, 'project'), path.join(folder, 'bin')];
  for (const made of [project, bin]) mkdirSync(made);
  writeFileSync(path.join(project, 'README.md'), 'A project.\n');
  gitIn(project, 'init', '-q', '-b', 'main');
  gitIn(project, 'add', '--all');
  gitIn(
    project,
    '-c',
    'user.name=somebody',
    '-c',
    'user.email=somebody@example.org',
    '-c',
    'commit.gpgsign=false',
    'commit',
    '-q',
    '-m',
    'One',
  );
  writeFileSync(path.join(folder, 'docs-only.yaml'), 'name: docs-only\nextends: edit\nallowed_paths: [docs]\n');
  placeAgent('claude', bin);
  process.env['PATH'] = `${bin}:${process.env['PATH']}`;
  process.env['ANTHROPIC_API_KEY'] = 'an-unused-key';
}

function agent(what: string, exit: number, [deed, policy = '']: readonly string[]): void {
  const task = `Improve the project. DO=${deed}`;
  step(what, exit, ['run', 'agent', '--agent', 'claude', '--task', task, '--dir', 'project', '--policy', policy]);
}

/** Starts a version of the demo agent on a free port. */
async function startAgent(args: readonly string[]): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [example('suite/agent.mjs'), '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill());
  const said = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('The example agent did not start.')));
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  return { url: /http:\S+/.exec(said)?.[0] ?? '', child };
}

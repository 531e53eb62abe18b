/** `npm start`: agents, scripts and intents inside bounds, and two versions of an agent compared; what was kept and proved. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitIn } from '../stand-ins/git.ts';
import { placeAgent } from '../stand-ins/place-agent.ts';

const root = process.cwd();
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-start-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const example = (name: string): string => path.join(root, 'examples', name);

let isAsPromised = true;

console.log(
  'Proctor runs agents, scripts and intents inside bounds that it enforces, leaves evidence that anyone can verify,',
);
console.log('and says whether the new version is worse than the old one.\n');
step('A good script. It gets a table, and leaves another one and a result.', 0, [
  'run',
  'script',
  example('report.py'),
  '--input',
  example('orders.csv'),
]);
step('A hostile one. It tries what it must not do, and claims success all the same.', 1, [
  'run',
  'script',
  example('hostile.py'),
]);
step('One that hangs, ignores signals, and hides a child. It gets two seconds.', 1, [
  'run',
  'script',
  example('hanging.sh'),
  '--timeout',
  '2s',
]);
step('What was kept of the last one, and within which bounds it ran:', 0, ['show', 'latest']);
step('Whether the evidence may be believed, offline, on any machine:', 0, ['verify', 'latest']);

placeRepository();
agent('An agent works on a private clone of a repository. It is a stand-in for Claude that does what DO= says.', 0, [
  'write',
  'edit',
]);
step('What it changed is brought home, all of it or nothing:', 0, ['apply', 'latest', '--dir', 'project']);
agent('Under a policy that lets it change docs alone, it changes something else, and says that all is well.', 1, [
  'delete',
  'docs-only.yaml',
]);
step('That does not come home.', 1, ['apply', 'latest', '--dir', 'project']);

const cases = example('suite/cases.yaml');
const baseline = await startAgent([]);
step('An agent is asked the cases of a suite; every answer becomes an artifact, and is judged.', 0, [
  'run',
  'suite',
  cases,
  '--base-url',
  baseline.url,
  '--as',
  'baseline',
]);
const candidate = await startAgent(['--new']);
step('Its new version is asked the same, three times over. One of its cases ends in an error.', 1, [
  'run',
  'suite',
  cases,
  '--base-url',
  candidate.url,
  '--as',
  'new',
  '--repeat',
  '3',
]);
step('Is the new version worse? Which cases broke, and why?', 1, ['compare', 'baseline', 'new']);
step('One of the answers again, beside the one that was recorded:', 1, [
  'resend',
  'baseline',
  'refund-small',
  '--base-url',
  candidate.url,
]);
step('Whether the evidence of both sides may be believed:', 0, [
  'verify',
  '.proctor/runs/baseline',
  '.proctor/runs/new',
]);
baseline.child.kill();
candidate.child.kill();

intent('An intent: files, a command, an output and checks. It is planned, then done in a sandbox.', 0, [
  'build-config.json',
  '--policy',
  'strict',
  '--mode',
  'execute-sandbox',
]);
step('It runs again, from nothing but its folder. Does the same come out?', 0, ['reproduce', 'latest']);
intent('A vague one. Nothing runs as long as there are questions.', 1, ['vague.json', '--mode', 'execute-sandbox']);
intent('The same with answers, from a file:', 0, [
  'vague.json',
  '--answers',
  example('intent/answers.json'),
  '--mode',
  'execute-sandbox',
]);
intent('One that asks for what its profile forbids. It is refused, and nothing has run.', 1, ['forbidden.json']);

const report = path.join(root, 'build', 'demo', 'report.html');
const [comparison] = readdirSync(path.join(folder, '.proctor', 'comparisons'));
cpSync(path.join(folder, '.proctor', 'comparisons', comparison as string, 'report.html'), report);
console.log(`The report of the comparison is one page, to be opened in any browser:

  ${path.relative(root, report)}

The runs lay in a temporary folder, and are gone. Now with something of your own:

  npx proctor run agent --agent claude --task TEXT         docs/agents.md says what it needs, and what it may do
  npx proctor run script FILE                              docs/scripts.md says what a script finds and leaves
  npx proctor run intent FILE                              docs/intents.md says how one is written
  npx proctor run suite CASES --base-url URL --as baseline docs/suites.md says how cases are written
  npx proctor doctor                                       which sandboxes work here, and what each enforces
  npx proctor verify FILE…                                 documents of other tools, too`);
if (!isAsPromised) process.exitCode = 1;

/** Says what comes, shows the command as one would type it, and runs it; its standard output may go to a file. */
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

/** The answer of an intent is a document, and goes to a file; people read what is beside it. */
function intent(what: string, exit: number, [name = '', ...flags]: readonly string[]): void {
  step(what, exit, ['run', 'intent', example(`intent/${name}`), ...flags], 'run.json');
}

/** A repository to work on, a policy, and the program of the stand-in, which asks no model and needs no real key. */
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
  process.env['ANTHROPIC_API_KEY'] = 'a-key-of-nobody';
}

/** An agent does something to the repository, under a policy. */
function agent(what: string, exit: number, [deed, policy = '']: readonly string[]): void {
  const task = `Improve the project. DO=${deed}`;
  step(what, exit, ['run', 'agent', '--agent', 'claude', '--task', task, '--dir', 'project', '--policy', policy]);
}

/** Starts a version of the demo agent on a port of its own. */
async function startAgent(args: readonly string[]): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [example('suite/agent.mjs'), '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill());
  const said = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the demo agent did not start')));
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  return { url: /http:\S+/.exec(said)?.[0] ?? '', child };
}

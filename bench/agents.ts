/**
 * `npm run bench:agents`: the overhead of a run over the bare agent and of a check over the bare command, the speed and
 * memory of the transcript, and whether each event is reported in the event-loop turn of its line. Uses one process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';
import { runAgent, type RunAgentOptions } from '../src/verbs/run-agent.ts';
import { closeLauncher } from '../src/verbs/launcher.ts';
import { runScript } from '../src/verbs/run-script.ts';
import { gitIn } from '../stand-ins/git.ts';
import { placeAgent } from '../stand-ins/place-agent.ts';
import { checkFigures } from './agent-checks.ts';
import { streamFigures, turnFigures } from './agent-stream.ts';
import { medians } from './interleaved.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
const OVERHEAD_BOUND = 1.5;
const PARSE_BOUND = 0.25;
const RSS_BOUND = 1.25;
const TASK = 'DO=lines:1000';
// On the project's disk, like a user's runs.
const cwd = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
chmodSync(cwd, 0o755);
process.on('exit', () => rmSync(cwd, { recursive: true, force: true }));

const overhead = await overheadFigures();
const checks = await checkFigures(cwd, ROUNDS);
line(
  'a check with its copy, put-back and evidence / the bare command',
  checks.ofBareCommand,
  `(limit ${OVERHEAD_BOUND})`,
);
line('the same for `true`', checks.ofTrue, '(no limit)');
await closeLauncher();
const turns = await turnFigures(cwd);
line('events reported in a later turn than their line', turns.late, `of ${turns.events} (limit 0)`);
const streams = streamFigures(cwd);
for (const [agent, { ofBareParse, lateRssOfEarly }] of Object.entries(streams)) {
  line(`${agent}: bare JSON.parse per line / normalizing 500 MB`, ofBareParse, `(limit: at least ${PARSE_BOUND})`);
  line(`${agent}: memory at 500 MB / at 100 MB`, lateRssOfEarly, `(limit ${RSS_BOUND})`);
}
writeAtomic(
  path.join('bench', 'results', 'agents.json'),
  `${JSON.stringify({ node: process.version, cores: availableParallelism(), rounds: ROUNDS, overhead, checks, turns, streams }, undefined, 2)}\n`,
);
const isSlow = Object.values(streams).some(
  ({ ofBareParse, lateRssOfEarly }) => ofBareParse < PARSE_BOUND || lateRssOfEarly > RSS_BOUND,
);
const isHeavy = overhead.ofBare > OVERHEAD_BOUND || overhead.withDoor > OVERHEAD_BOUND;
if (isHeavy || checks.ofBareCommand > OVERHEAD_BOUND || turns.late > 0 || turns.events === 0 || isSlow)
  process.exitCode = 1;

/** Times a stand-in that prints 1,000 lines, bare and in a run, and subtracts the time of a script that does nothing. */
async function overheadFigures() {
  // Not below node_modules: there, the sandbox would mount the whole folder.
  const bin = mkdtempSync(path.join(tmpdir(), 'proctor-bench-'));
  process.on('exit', () => rmSync(bin, { recursive: true, force: true }));
  const dir = path.join(cwd, 'repository');
  mkdirSync(dir);
  const program = placeAgent('claude', bin);
  writeFileSync(path.join(dir, 'README.md'), 'A project.\n');
  gitIn(dir, 'init', '-q', '-b', 'main');
  gitIn(dir, 'add', '--all');
  gitIn(dir, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'One');
  const script = path.join(cwd, 'nothing.sh');
  writeFileSync(
    script,
    `echo '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
  );
  const environment = { PATH: `${bin}:/usr/bin:/bin` };
  const ways = {
    bare: async () => {
      const child = spawn(program, [], { cwd: dir, stdio: ['pipe', 'pipe', 'inherit'] });
      child.stdin.end(TASK);
      child.stdout.resume();
      const [code] = (await once(child, 'close')) as [number];
      if (code !== 0) throw new Error(`exit ${code}`);
    },
    sandbox: async () => {
      const { status, message } = await runScript({ script, profile: 'dev', cwd });
      if (status !== 'succeeded') throw new Error(message ?? 'no reason');
    },
    run: () => completed({ agent: 'claude', task: TASK, policy: 'edit', dir, environment, cwd }),
    // The agent makes no model call: this measures the cost of an idle model proxy.
    door: () =>
      completed({
        agent: 'claude',
        task: TASK,
        policy: 'edit',
        dir,
        environment: { ...environment, ANTHROPIC_API_KEY: 'a-key-of-nobody', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
        cwd,
      }),
  };
  const times = await medians(ways, ROUNDS);
  const { bare = 1, sandbox = 0, run = 0, door = 0 } = times;
  const ofBare = Number(((run - sandbox) / bare).toFixed(2));
  const withDoor = Number(((door - sandbox) / bare).toFixed(2));
  line('(run − empty run) / bare agent', ofBare, `(limit ${OVERHEAD_BOUND})`);
  line('(run with a model proxy − empty run) / bare agent', withDoor, `(limit ${OVERHEAD_BOUND})`);
  return { ofBare, withDoor, ms: times };
}

async function completed(options: RunAgentOptions): Promise<void> {
  const { termination, message } = await runAgent(options);
  if (termination !== 'completed') throw new Error(`${termination}: ${message ?? 'no reason'}`);
}

function line(what: string, value: number, bound: string): void {
  console.log(`${what.padEnd(68)} ${value.toFixed(2).padStart(6)}  ${bound}`);
}

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { useStateFolder } from '../../src/base/state-folder.ts';
import { AGENT_FILES } from '../../src/evidence/agent/agent-documents.ts';
import { JOURNAL } from '../../src/evidence/run-folder/journal.ts';
import type { ScriptLine } from '../../src/evidence/script/script-run.ts';
import { bootId } from '../../src/execute/host/machine.ts';
import { runIntent } from '../../src/verbs/run-intent.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { runSuite, type RunSuiteOptions } from '../../src/verbs/run-suite.ts';
import { AGENT_RUN, EVENTS, planOf as agentPlan, transcriptOf } from '../evidence/agent/agent-world.ts';
import { captureOf, COMPLETED_AT, noteOf, plan, put, STARTED_AT, succeeded } from '../evidence/script/script-world.ts';

export const SCRIPT_RUN = plan().request.run_id;
export const SUITE_RUN = 'planted';
const OUTPUT = { 'output/report.txt': 'all tests passed' };

/** The journal of a successful script. */
export const SCRIPT_LINES: readonly ScriptLine[] = [
  { is: 'planned', plan: plan() },
  { is: 'started', atMs: STARTED_AT + 100 },
  { is: 'captured', atMs: STARTED_AT + 4_100, capture: noteOf(captureOf({ how: 'exited', code: 0 })) },
  { is: 'read', atMs: COMPLETED_AT, reading: succeeded(OUTPUT) },
];

export const journalOf = (lines: readonly object[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('');

/** Acts as a user on another machine, with a different key. */
export async function elsewhere<Value>(root: string, work: () => Promise<Value>): Promise<Value> {
  useStateFolder(path.join(root, 'state-of-another'));
  try {
    return await work();
  } finally {
    useStateFolder(path.join(String(process.env['XDG_STATE_HOME']), 'proctor'));
  }
}

export const runFolder = (cwd: string, lane: string, id: string): string =>
  path.join(cwd, '.proctor', 'runs', lane, id);

/** The journal of a successful script, with every file that recovery needs. */
export function plantScript(cwd: string, id = SCRIPT_RUN): string {
  const folder = runFolder(cwd, 'script', id);
  put(folder, JOURNAL, journalOf(SCRIPT_LINES).replaceAll(SCRIPT_RUN, id));
  put(folder, 'evidence/internal/stdout.part', 'hello\n');
  for (const [file, text] of Object.entries(OUTPUT)) put(folder, file, text);
  return folder;
}

export function plantAgent(cwd: string): string {
  const folder = runFolder(cwd, 'agent', AGENT_RUN);
  const planned = agentPlan({ plan: { owner: { pid: 1, startTicks: 1, bootId: 'boot' } } });
  const lines = [
    { is: 'planned', plan: planned },
    { is: 'started', atMs: planned.startedAtMs + 100 },
  ];
  put(folder, JOURNAL, journalOf(lines));
  put(folder, AGENT_FILES.transcript, transcriptOf(EVENTS.slice(0, 5)));
  put(folder, AGENT_FILES.stdout, '{}\n'.repeat(6));
  return folder;
}

/** An interrupted intent run, written by a real process. */
export async function plantIntent(cwd: string): Promise<string> {
  const world = path.join(path.dirname(cwd), 'intent-world');
  mkdirSync(world);
  const intent = { goal: 'Try it', commands: [{ argv: ['node', '-e', 'console.log(1)'] }] };
  writeFileSync(path.join(world, 'intent.json'), JSON.stringify(intent));
  let from = '';
  let to = '';
  await runIntent({
    cwd: world,
    intent: path.join(world, 'intent.json'),
    mode: 'execute-sandbox',
    policy: 'default',
    onFolder: ({ id, folder }) => {
      from = folder;
      to = runFolder(cwd, 'intent', id);
    },
    onOutput: () => {
      if (!existsSync(to)) cpSync(from, to, { recursive: true });
    },
  }).finally(closeLauncher);
  // Its owner is a process on another machine.
  const journal = path.join(to, JOURNAL);
  writeFileSync(journal, readFileSync(journal, 'utf8').replaceAll(bootId(), 'boot'));
  withoutCodes(to);
  return to;
}

/** A suite whose process stopped after the first case. */
export async function plantSuite(cwd: string, options: Partial<RunSuiteOptions>): Promise<string> {
  const stop = new AbortController();
  const cases = ['one', 'two'].map(id => ({ id, input: { user: id } }));
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(cases));
  const order = { cases: 'cases.json', as: 'new', runId: SUITE_RUN, concurrency: 1, retries: 0 } as const;
  const { runs } = await runSuite({
    ...order,
    ...options,
    cwd,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  }).finally(closeLauncher);
  if (runs[0]?.isOpen !== true) throw new Error('The suite was not interrupted.');
  const folder = runFolder(cwd, 'new', SUITE_RUN);
  withoutCodes(folder);
  return folder;
}

/** An attacker can write a journal in the old format, without authentication codes. */
function withoutCodes(folder: string): void {
  const journal = path.join(folder, JOURNAL);
  writeFileSync(journal, readFileSync(journal, 'utf8').replaceAll(/\t.*$/gm, ''));
}

/** A clone of a repository that contains the files in `from`. */
export function cloned(from: string, to: string): string {
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=x', '-c', 'user.email=x@example.com', '-c', 'init.defaultBranch=main'];
    execFileSync('git', [...identity, ...args], { stdio: 'pipe' });
  };
  git('init', '-q', from);
  git('-C', from, 'add', '-f', '.');
  git('-C', from, 'commit', '-q', '-m', 'add the results of our tests');
  git('clone', '-q', from, to);
  return to;
}

/** Every entry of a tree with its mode, times and bytes. */
export function digestOf(folder: string): string {
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  for (const name of ['.', ...names]) {
    const file = path.join(folder, name);
    const { mode, mtimeMs, ino } = lstatSync(file);
    const kind = lstatSync(file);
    const content = kind.isFile() ? readFileSync(file) : kind.isSymbolicLink() ? readlinkSync(file) : '';
    hash.update(JSON.stringify([name, mode, mtimeMs, ino])).update(content);
  }
  return hash.digest('hex');
}

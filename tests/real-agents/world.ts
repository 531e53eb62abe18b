import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';
import { expect, inject, onTestFinished } from 'vitest';
import type { TranscriptLine } from '../../src/contracts/agent-step/reading.ts';
import { type ModelApi, startModelApi } from '../../stand-ins/model-api.ts';
import { repositoryFolder } from '../../stand-ins/place.ts';
import { sleepSeconds } from '../../stand-ins/scenarios.ts';
import { ROOT } from '../support/support.ts';

export const agentsFolder = inject('agentsFolder');
export const KEY = 'sk-a-key-that-must-not-leave-its-keeper';
const POLL_MS = 50;
const POLLS_MAX = 1_200;

export type Agent = 'claude' | 'codex';

/** The part of the `--json` answer that these tests read. */
interface Answer {
  readonly folder: string;
  readonly termination: string;
  readonly reason: string;
  readonly message: string | null;
  readonly transcript_path: string;
  readonly final_response: string | null;
  readonly denials: number;
  readonly changes: { readonly files: number } | null;
  readonly violations: readonly { readonly class: string; readonly source?: string; readonly operation?: string }[];
  readonly flags: readonly { readonly flag: string }[];
  readonly usage: { readonly turns: number | null };
  readonly left_running: { readonly processes: number; readonly programs: readonly string[] } | null;
  readonly model_access: { readonly mode: string; readonly requests: number };
}

/** A repository, a model API on loopback, and a folder for the runs. */
export class World {
  readonly cwd = mkdtempSync(path.join(tmpdir(), 'proctor-agents-'));
  readonly repository: string;
  /** Longer than a socket address can be. */
  readonly temp = mkdtempSync(path.join(tmpdir(), `proctor-agents-${'x'.repeat(90)}-`));
  readonly api: ModelApi;

  constructor(api: ModelApi, files?: Readonly<Record<string, string>>) {
    this.api = api;
    this.repository = repositoryFolder(files);
    chmodSync(this.cwd, 0o755);
    chmodSync(this.temp, 0o1777);
  }

  /** The environment of a user with one agent and its key. */
  start(agent: Agent, task: string, flags: readonly string[] = [], key: string | null = KEY): ChildProcess {
    return this.#spawned(this.#args(agent, task, flags), agent, key);
  }

  /** Runs any other command in that environment. */
  async with(
    agent: Agent,
    ...args: readonly string[]
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    return outputOf(this.#spawned(args, agent, KEY));
  }

  /** Additional variables. */
  async runWith(agent: Agent, task: string, flags: readonly string[], env: NodeJS.ProcessEnv): Promise<Run> {
    return this.ended(this.#spawned(this.#args(agent, task, flags), agent, null, env));
  }

  #args(agent: Agent, task: string, flags: readonly string[]): string[] {
    const dir = flags.includes('--dir') ? [] : ['--dir', this.repository];
    return ['run', 'agent', '--agent', agent, '--task', task, ...dir, '--json', ...flags];
  }

  #spawned(args: readonly string[], agent: Agent, key: string | null, env: NodeJS.ProcessEnv = {}): ChildProcess {
    return spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
      cwd: this.cwd,
      env: {
        PATH: [agentsFolder, path.dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
        HOME: this.cwd,
        // The state folder, shared by all commands of this user.
        XDG_STATE_HOME: process.env['XDG_STATE_HOME'],
        TMPDIR: this.temp,
        NO_COLOR: '1',
        ...(key !== null && environmentFor(agent, key, this.api.url)),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async run(agent: Agent, task: string, flags: readonly string[] = [], key: string | null = KEY): Promise<Run> {
    return this.ended(this.start(agent, task, flags, key));
  }

  async proctor(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
      cwd: this.cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return outputOf(child);
  }

  async ended(child: ChildProcess): Promise<Run> {
    const { code, stdout, stderr } = await outputOf(child);
    if (!stdout.startsWith('{"kind":"agent"'))
      throw new Error(`No run, exit ${code}: ${stdout}${stderr.slice(-2_000)}`);
    return new Run(code, stderr, JSON.parse(stdout) as Answer, this);
  }

  /** All processes that a tool call started. */
  sleepers(): number[] {
    const command = `sleep\0${sleepSeconds(this.api.port)}\0`;
    return processes().filter(pid => commandOf(pid) === command);
  }

  runFolders(): string[] {
    const lane = path.join(this.cwd, '.proctor', 'runs', 'agent');
    return existsSync(lane) ? readdirSync(lane).map(id => path.join(lane, id)) : [];
  }
}

class Run {
  readonly code: number | null;
  readonly stderr: string;
  readonly answer: Answer;
  readonly folder: string;

  constructor(code: number | null, stderr: string, answer: Answer, { cwd }: World) {
    this.code = code;
    this.stderr = stderr;
    this.answer = answer;
    this.folder = path.resolve(cwd, answer.folder);
  }

  get transcript(): readonly TranscriptLine[] {
    const text = readFileSync(path.join(this.folder, this.answer.transcript_path), 'utf8');
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as TranscriptLine);
  }

  /** The tool results. */
  get outputs(): string[] {
    return this.transcript.flatMap(line => (line.kind === 'tool_result' ? [line.output.text] : []));
  }

  /** Every file of the evidence, as text. */
  get bytes(): string {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
      .join('\n');
  }
}

/** A world that must be clean after the test: valid evidence, and no process or temporary file left. */
export async function world(files?: Readonly<Record<string, string>>): Promise<World> {
  const api = await startModelApi();
  const made = new World(api, files);
  onTestFinished(async () => {
    await api.close();
    for (const folder of [made.cwd, made.temp]) rmSync(folder, { recursive: true, force: true });
  });
  return made;
}

export async function expectInOrder(made: World): Promise<void> {
  const folders = made.runFolders();
  expect(folders.length).toBeGreaterThan(0);
  const { code, stdout, stderr } = await made.proctor('verify', ...folders);
  expect(code, stdout + stderr).toBe(0);
  expect(made.sleepers()).toEqual([]);
  expect(readdirSync(made.temp), 'left in the folder for temporary files').toEqual([]);
}

/** Waits up to a minute. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    if (isSo()) return;
    await rest(POLL_MS);
  }
  throw new Error(`Timed out before ${what}`);
}

/** The processes of the agent program, under any name. */
export function processesOf(agent: Agent, made: World): number[] {
  const parents = new Map(processes().map(pid => [pid, parentOf(pid)]));
  const above = (pid: number): number[] => {
    const parent = parents.get(pid);
    return parent === undefined || parent <= 1 ? [] : [parent, ...above(parent)];
  };
  const ancestors = new Set(made.sleepers().flatMap(above));
  return [...ancestors].filter(pid => path.basename(programOf(pid)) === agent);
}

function environmentFor(agent: Agent, key: string, url: string): Record<string, string> {
  return agent === 'claude'
    ? { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }
    : { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1` };
}

async function outputOf(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  return { code, stdout, stderr };
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

function commandOf(pid: number): string {
  return readOf(pid, 'cmdline');
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readOf(pid, 'status'))?.[1] ?? 0);
}

/** By its first word, because /proc/PID/exe of another user's process is unreadable. */
function programOf(pid: number): string {
  return commandOf(pid).split('\0')[0] ?? '';
}

function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

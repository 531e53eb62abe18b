import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { gitIn } from '../../../stand-ins/git.ts';
import { placeAgent } from '../../../stand-ins/place-agent.ts';
import { repositoryFolder } from '../../../stand-ins/place.ts';
import { type Place, place, type Started } from '../../support/runs.ts';
import type { Ran } from '../../support/support.ts';

export type Agent = 'claude' | 'codex';

let programs = '';

/** Installs both stand-ins into a folder, once per test file. */
export function placePrograms(): void {
  beforeAll(() => {
    programs = mkdtempSync(path.join(tmpdir(), 'proctor-agents-'));
    for (const agent of ['claude', 'codex'] as const) placeAgent(agent, programs);
  });
  afterAll(() => rmSync(programs, { recursive: true, force: true }));
}

/** Nothing listens at these addresses, but Proctor still starts its model proxy. */
export const WITH_KEYS: NodeJS.ProcessEnv = {
  ANTHROPIC_API_KEY: 'the-key-of-the-model',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  OPENAI_API_KEY: 'the-key-of-the-model',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
};

/** The JSON output of the command line, as far as tests read it. */
interface Answer {
  readonly termination: string;
  readonly reason: string;
  readonly message: string | null;
  readonly final_response: string | null;
  readonly ending: object;
  readonly violations: readonly { readonly class: string; readonly message: string; readonly hard: boolean }[];
  readonly flags: readonly { readonly kind: string }[];
  readonly changes: { readonly files: number; readonly commits: number } | null;
  readonly folder: string;
  readonly [key: string]: unknown;
}

export interface AgentRan extends Ran {
  readonly answer: Answer;
  readonly folder: string;
}

/** A repository, and a folder to run agents in. After the test, every run must verify, and no temporary files may remain. */
export class AgentWorld {
  readonly place: Place = place();
  readonly repository: string;

  constructor(files?: Readonly<Record<string, string>>) {
    this.repository = repositoryFolder(files);
  }

  args(agent: Agent, task: string, flags: readonly string[] = []): string[] {
    const policy = flags.includes('--policy') ? [] : ['--policy', 'edit'];
    return ['run', 'agent', '--agent', agent, '--task', task, '--dir', this.repository, ...policy, ...flags, '--json'];
  }

  /** Runs the command, whatever its exit code. */
  tried(args: readonly string[], env: NodeJS.ProcessEnv = {}): Ran {
    return this.place.proctor(args, { env: { ...this.environment, ...env } });
  }

  /** Runs an agent, and expects its answer as one line of JSON. */
  run(agent: Agent, task: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): AgentRan {
    return this.ran(this.tried(this.args(agent, task, flags), env));
  }

  start(agent: Agent, task: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Started {
    return this.place.start(this.args(agent, task, flags), { ...this.environment, ...env });
  }

  ran(ran: Ran): AgentRan {
    expect(ran.stdout, ran.stderr).toMatch(/^\{.*\}\n$/);
    const answer = JSON.parse(ran.stdout) as Answer;
    expect(answer.folder, ran.stdout + ran.stderr).toBeTypeOf('string');
    return { ...ran, answer, folder: path.join(this.place.cwd, answer.folder) };
  }

  /** Without model keys and addresses of this machine. */
  readonly environment: NodeJS.ProcessEnv = {
    ANTHROPIC_API_KEY: '',
    ANTHROPIC_AUTH_TOKEN: '',
    CLAUDE_CODE_OAUTH_TOKEN: '',
    OPENAI_API_KEY: '',
    ANTHROPIC_BASE_URL: '',
    OPENAI_BASE_URL: '',
    CHATGPT_BASE_URL: '',
    get PATH() {
      return `${programs}${path.delimiter}${process.env['PATH'] ?? ''}`;
    },
  };
}

/** Every file of a folder with its content. */
export function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ parentPath, name }) => path.join(parentPath, name))
      .map(file => [path.relative(folder, file), readFileSync(file)]),
  );
}

export function linesIn(folder: string): readonly { readonly kind: string; readonly [key: string]: unknown }[] {
  const text = readFileSync(path.join(folder, 'evidence/steps/agent/transcript.ndjson'), 'utf8');
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as { kind: string });
}

/** The task of a stand-in, its policy, and the expected result. */
export type Row = readonly [agent: Agent, task: string, policy: string, answer: object];

export const completed = { termination: 'completed', reason: 'ok' };

export function ended(termination: string, reason: string): object {
  return { termination, reason };
}

/** Runs all of them on one repository, which must stay unchanged. A run with a violation cannot be applied. */
export function expectAll(rows: readonly Row[]): void {
  const world = new AgentWorld({ 'README.md': 'A project.\n', 'docs/index.md': 'Docs.\n' });
  world.place.file('strict.yaml', STRICT);
  const state = (): string =>
    gitIn(world.repository, 'for-each-ref') + gitIn(world.repository, 'status', '--porcelain');
  const before = state();
  for (const [agent, task, policy, expected] of rows) {
    const { answer, code, stderr } = world.run(agent, task, ['--policy', policy]);
    expect(answer, `${agent} ${task} ${policy}\n${stderr}`).toMatchObject(expected);
    expect(code, task).toBe(answer.termination === 'completed' && answer.violations.length === 0 ? 0 : 1);
    if (answer.termination === 'killed_policy')
      expect(world.tried(['apply', 'latest', '--dir', world.repository]).code, task).not.toBe(0);
  }
  expect(state()).toBe(before);
}

const STRICT = `name: strict
extends: edit
approval_posture: fail_on_prompt
allowed_paths: [docs]
forbidden_paths: [docs/legal]
forbidden_operations: [commit, delete, configure]
`;

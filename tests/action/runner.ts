import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { ROOT, temporaryFolder } from '../support/support.ts';

interface ActionStep {
  readonly name: string;
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly run?: string;
  readonly shell?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly ActionStep[] };
}

export const action = parse(readFileSync(path.join(ROOT, 'action.yml'), 'utf8')) as Action;

/** What a step did: skipped, or ran with this exit code. A `uses` step is only recorded. */
interface StepResult {
  readonly name: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly isSkipped: boolean;
  readonly exitCode: number;
  readonly printed: string;
}

export interface Job {
  readonly steps: readonly StepResult[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly isFailed: boolean;
}

export interface JobOptions {
  readonly workspace: string;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly event?: string;
  readonly payload?: unknown;
  readonly apiUrl?: string;
  readonly runId?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the steps of the action as a runner does: expressions, conditions, outputs and files, in bash. */
export async function runAction({ workspace, inputs = {}, event = 'push', ...options }: JobOptions): Promise<Job> {
  const temp = temporaryFolder();
  const github = { token: 'good', event_name: event, action_path: ROOT };
  const given = Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: value }]) => [
      name,
      inputs[name] ?? filled(value, { github }),
    ]),
  );
  const outputs: Record<string, { outputs: Record<string, string> }> = {};
  const context = { inputs: given, github, steps: outputs };
  const results: StepResult[] = [];
  let isFailed = false;
  writeFileSync(path.join(temp, 'event.json'), JSON.stringify(options.payload ?? {}));
  const summary = path.join(temp, 'summary.md');
  writeFileSync(summary, '');
  for (const [index, step] of action.runs.steps.entries()) {
    const { name, id, uses } = step;
    const isSkipped = step.if === undefined ? isFailed : !holds(step.if, context, isFailed);
    if (isSkipped || uses !== undefined) {
      const asked = uses === undefined ? {} : { uses, with: resolved(step.with ?? {}, context) };
      results.push({ name, ...asked, isSkipped, exitCode: 0, printed: '' });
      continue;
    }
    const output = path.join(temp, `output-${index}`);
    writeFileSync(output, '');
    const { code, printed } = await bash(step.run ?? '', workspace, {
      ...process.env,
      GITHUB_ACTION_PATH: ROOT,
      GITHUB_API_URL: options.apiUrl ?? 'http://127.0.0.1:1',
      GITHUB_SERVER_URL: 'https://github.example',
      GITHUB_REPOSITORY: 'team/desk',
      GITHUB_EVENT_NAME: event,
      GITHUB_EVENT_PATH: path.join(temp, 'event.json'),
      GITHUB_WORKSPACE: workspace,
      GITHUB_RUN_ID: options.runId ?? '100',
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_OUTPUT: output,
      GITHUB_ENV: path.join(temp, 'env'),
      GITHUB_PATH: path.join(temp, 'path'),
      RUNNER_TEMP: temp,
      ...options.env,
      ...resolved(step.env ?? {}, context),
    });
    if (id !== undefined) outputs[id] = { outputs: outputsIn(output) };
    isFailed ||= code !== 0;
    results.push({ name, isSkipped, exitCode: code, printed });
  }
  const told = Object.entries(action.outputs).map(([name, { value }]) => [name, filled(value, context)]);
  return { steps: results, outputs: Object.fromEntries(told), summary: readFileSync(summary, 'utf8'), isFailed };
}

/** The flags that GitHub passes for `shell: bash`. */
async function bash(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<{ code: number; printed: string }> {
  const file = path.join(temporaryFolder(), 'step.sh');
  writeFileSync(file, script);
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file], { cwd, env, stdio: 'pipe' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += String(chunk)));
  const code = await new Promise<number | null>(resolve => child.once('close', resolve));
  return { code: code ?? 128, printed };
}

function outputsIn(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').split('\n');
  return Object.fromEntries(
    lines
      .filter(line => line !== '')
      .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

function resolved(values: Readonly<Record<string, string>>, context: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, filled(value, context)]));
}

function filled(text: string, context: object): string {
  return text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression: string) => valueOf(expression, context));
}

/** The part of the expression language that action.yml uses; everything else throws. */
function holds(condition: string, context: object, isFailed: boolean): boolean {
  const [, inner = ''] = /^\$\{\{ (.*) \}\}$/.exec(condition) ?? [];
  const parts = inner.split(' && ');
  const hasStatus = parts.includes('!cancelled()');
  return (hasStatus || !isFailed) && parts.every(part => part === '!cancelled()' || isTrue(part, context));
}

function isTrue(comparison: string, context: object): boolean {
  const [, left = '', operator, right] = /^(\S+) (==|!=) '([^']*)'$/.exec(comparison) ?? [];
  if (operator === undefined) throw new Error(`The runner does not understand ${comparison}`);
  return (valueOf(left, context) === right) === (operator === '==');
}

function valueOf(expression: string, context: object): string {
  if (!/^[\w.-]+$/.test(expression)) throw new Error(`The runner does not understand ${expression}`);
  const value = expression
    .split('.')
    .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], context);
  return typeof value === 'string' ? value : '';
}

/** A repository on a runner, with a stand-in for Proctor that writes what the test specifies. */
export function workspaceWith(script: string, files: Readonly<Record<string, string>> = {}): string {
  const workspace = temporaryFolder();
  const program = 'node_modules/proctor/dist/proctor.js';
  for (const [name, text] of Object.entries({
    'node_modules/proctor/package.json': '{"type":"module"}',
    [program]: script,
    ...files,
  })) {
    mkdirSync(path.join(workspace, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(workspace, name), text);
  }
  return workspace;
}

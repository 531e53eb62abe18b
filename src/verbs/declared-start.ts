import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { withParts } from '../base/secret-parts.ts';
import { durationMs } from '../base/units.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import type { TargetStart } from '../contracts/target/index.ts';
import { freePort } from '../execute/served/ports.ts';
import { type Served, type ServedLog, startServed } from '../execute/served/served.ts';
import { servedTarget } from '../run/suite/served-target.ts';
import type { Target } from '../run/suite/target.ts';
import { isOfTarget } from '../targets/calls.ts';
import { compileTemplate } from '../targets/mapping/template.ts';
import type { RunSuiteOptions } from './run-suite.ts';

interface StartContext extends Pick<RunSuiteOptions, 'secrets' | 'environment' | 'signal' | 'onWarning'> {
  /** The folder that paths of the declaration are relative to. */
  readonly dir: string;
}

/** Starts the agent of a declaration, waits until it is ready, and returns the target around it. */
export async function startDeclared(
  { declaration }: Extract<SuiteTarget, { kind: 'declared' }>,
  start: TargetStart,
  { dir, secrets = {}, environment = {}, signal, onWarning }: StartContext,
  ask: (port: number) => Promise<Target>,
): Promise<Target> {
  const url = 'url' in declaration ? declaration.url : undefined;
  if (url === undefined) throw new Fault('usage', 'start requires a target with a url.');
  const port = url.includes('${port}') ? await freePort() : portOf(url);
  const env = (name: string): string | undefined => (Object.hasOwn(secrets, name) ? secrets[name] : undefined);
  const filled = fill({ url, run: start.run, env: start.env ?? {} }, port, env);
  let log: ServedLog | undefined;
  const served = await startServed(
    {
      run: filled.run,
      cwd: path.resolve(dir, start.cwd ?? '.'),
      env: filled.env,
      ...readyOf(start),
      ...stopOf(start),
      ...(start.reuse !== undefined && { reuse: start.reuse }),
    },
    {
      port,
      url: filled.url,
      environment,
      secrets: withParts(Object.values(secrets)),
      log: written => void (log = written),
      ...(signal && { signal }),
    },
  );
  // The answers may come from an older version, or from the agent of another project.
  if (served.reused)
    onWarning?.(
      `A program already listens on port ${port}, so Proctor tests that one and does not start its own. Restart it after a change.`,
    );
  return targetOf(
    served,
    () => ask(port),
    () => log,
  );
}

async function targetOf(served: Served, ask: () => Promise<Target>, log: () => ServedLog | undefined): Promise<Target> {
  try {
    return servedTarget(await ask(), served, log);
  } catch (error) {
    await served.stop();
    throw error;
  }
}

interface Filled {
  readonly url: string;
  readonly run: string[];
  readonly env: Record<string, string>;
}

function fill(tree: object, port: number, env: (name: string) => string | undefined): Filled {
  const result = compileTemplate(texts(tree), { allowed: isOfTarget }).fillIn({ port, env });
  if (!result.ok) throw new Fault('usage', `start: ${result.message}`);
  return texts(result.value) as Filled;
}

/** A placeholder alone keeps the type of its value, but words and variables are text. */
function texts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(texts);
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, texts(member)]));
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' || protocol === 'wss:' ? 443 : 80) : Number(port);
}

function readyOf({ ready }: TargetStart) {
  if (!ready) return {};
  const { within, ...probe } = ready;
  return { ready: { ...defined(probe), ...(within !== undefined && { within: durationMs(within) }) } };
}

function stopOf({ stop }: TargetStart) {
  if (!stop) return {};
  const { signal, within } = stop;
  return {
    stop: {
      ...(signal !== undefined && { signal: signal as NodeJS.Signals }),
      ...(within !== undefined && { within: durationMs(within) }),
    },
  };
}

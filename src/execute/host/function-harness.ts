/**
 * Calls a user's function in a process of its own: `node function-harness.mjs MODULE EXPORT FOLDER`. The argument of the
 * call is JSON on standard input. The returned value goes to `reply.json` in the folder, and the message of an exception
 * to `failed.json`. So nothing that the function prints counts as its reply.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
// The function may leave timers and servers behind, which would keep this process alive.
import { exit } from 'node:process';
import { pathToFileURL } from 'node:url';

const [module = '', name = '', folder = ''] = process.argv.slice(2);

let isOver = false;

// Without pending work, Node ends a process that still waits for a promise.
process.once('beforeExit', () => fail('it waits for a promise that nothing resolves.'));
process.once('exit', code => fail(`it ended its process with code ${code}.`));
process.once('uncaughtException', error => fail(messageOf(error)));
process.once('unhandledRejection', error => fail(messageOf(error)));

try {
  const question: unknown = JSON.parse(readFileSync(0, 'utf8'));
  const loaded = (await import(pathToFileURL(module).href)) as Record<string, unknown>;
  const called = exportOf(loaded);
  if (typeof called === 'function') answer(await (called as (question: unknown) => unknown)(question));
  else fail(`the module exports no function "${name}".`);
} catch (error) {
  fail(messageOf(error));
}

/** A CommonJS module has its exports below `default`. */
function exportOf(loaded: Record<string, unknown>): unknown {
  const below = loaded['default'];
  if (name in loaded && (name !== 'default' || typeof below === 'function')) return loaded[name];
  return typeof below === 'object' && below !== null ? (below as Record<string, unknown>)[name] : undefined;
}

function answer(value: unknown): void {
  const text = jsonOf(value);
  if (text === undefined) return fail('it returned a value that is not JSON.');
  end('reply.json', text, 0);
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function fail(message: string): void {
  end('failed.json', JSON.stringify({ message }), 1);
}

function end(file: string, text: string, code: number): void {
  if (isOver) return;
  isOver = true;
  writeFileSync(path.join(folder, file), text);
  exit(code);
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return 'it threw a value that is not an Error.';
  // Node adds the files that led to a module that it did not find.
  return error.message.split('\nRequire stack:')[0] ?? '';
}

#!/usr/bin/env node
/** The entry point. It stays small, because `--version` loads nothing else and each command loads only its own code. */
import { writeSync } from 'node:fs';

declare const PROCTOR_VERSION: string;

// An uncaught error becomes one sentence. The stack is shown only on request.
process.on('uncaughtException', error => {
  const detail = process.env['PROCTOR_DEBUG'] ? (error.stack ?? String(error)) : 'Set PROCTOR_DEBUG=1 to see where.';
  const said = error.name === 'Fault' ? `error: ${error.message}` : `error: Proctor hit an internal error. ${detail}`;
  process.stderr.write(`${said}\n`);
  process.exit(2);
});

const [first, ...rest] = process.argv.slice(2);

// npm runs scripts in the package folder, but paths after `npm run runner-verify --` are relative to the caller.
const { npm_lifecycle_event: script, npm_package_name: owner, INIT_CWD: callersFolder } = process.env;
if (script === 'runner-verify' && owner === 'proctor' && callersFolder) {
  try {
    process.chdir(callersFolder);
  } catch {
    // The folder is gone. The command will report that the files do not exist.
  }
}

if (first === '--version' || first === '-v' || first === '-V') {
  // `process.stdout` would first load Node's stream and terminal code.
  writeSync(1, `${PROCTOR_VERSION}\n`);
} else if (first === 'runner-verify' && rest.length > 0 && rest.every(word => word === '-' || !word.startsWith('-'))) {
  // Scripts call this once per record. Without flags, there is nothing to parse.
  const { runnerVerifyCommand } = await import('./commands/runner-verify.ts');
  process.exitCode = runnerVerifyCommand(rest, {});
} else {
  const { main } = await import('./program.ts');
  process.exitCode = await main(process.argv.slice(2), PROCTOR_VERSION);
}

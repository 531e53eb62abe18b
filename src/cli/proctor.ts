#!/usr/bin/env node
/**
 * The door. It knows how to be quick: the version needs nothing else, and every command loads only its own rooms.
 */
import { writeSync } from 'node:fs';

declare const PROCTOR_VERSION: string;

// What nobody caught is told in a sentence: a fault in its own words, a bug as one, without the stack that helps only us.
process.on('uncaughtException', error => {
  const detail = process.env['PROCTOR_DEBUG'] ? (error.stack ?? String(error)) : 'PROCTOR_DEBUG=1 shows where.';
  const said = error.name === 'Fault' ? `error: ${error.message}` : `Proctor failed by a bug of its own. ${detail}`;
  process.stderr.write(`${said}\n`);
  process.exit(2);
});

const [first, ...rest] = process.argv.slice(2);

// npm runs a script in the package's folder; the paths that follow `npm run runner-verify --` are those of the caller's.
const { npm_lifecycle_event: script, npm_package_name: owner, INIT_CWD: callersFolder } = process.env;
if (script === 'runner-verify' && owner === 'proctor' && callersFolder) {
  try {
    process.chdir(callersFolder);
  } catch {
    // The folder is gone; its relative paths will be said not to exist.
  }
}

if (first === '--version' || first === '-V') {
  // Not process.stdout, which loads streams and terminals first.
  writeSync(1, `${PROCTOR_VERSION}\n`);
} else if (first === 'runner-verify' && rest.length > 0 && rest.every(word => word === '-' || !word.startsWith('-'))) {
  // Called once per record by other people's scripts: without flags there is nothing to parse.
  const { runnerVerifyCommand } = await import('./runner-verify.ts');
  process.exitCode = runnerVerifyCommand(rest, {});
} else {
  const { main } = await import('./program.ts');
  process.exitCode = await main(process.argv.slice(2), PROCTOR_VERSION);
}

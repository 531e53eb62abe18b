import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { printable } from '../base/printable.ts';
import { Fault } from '../base/fault.ts';
import { stderr, stdout } from './out.ts';

/** Reads the command line and does what it says. Returns the exit code. */
export async function main(args: readonly string[], version: string): Promise<number> {
  let exit = 0;
  const program = new Command('proctor')
    .description('Runs agents and scripts inside bounds, and proves what they did. Verifying works wherever Node does.')
    .version(version)
    .showHelpAfterError('(proctor --help shows all commands)')
    .configureOutput({
      writeOut: stdout.write,
      writeErr: text => stderr.write(text.split('\n').map(printable).join('\n')),
    })
    .exitOverride();

  program
    .command('verify')
    .description('Say whether documents, NDJSON files and folders may be believed, and which rules they break.')
    .argument('<path...>', 'files, folders, *.ndjson, or - for standard input')
    .option('--as <name>', 'judge by this contract, whatever the document says of itself')
    .option('--strict', 'unknown keys and bytes that are not canonical are violations too')
    .option('--internal', 'allow the fields that public documents must not have')
    .option('--ndjson', 'every input holds a record per line')
    .addOption(maxBytes())
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', EXITS)
    .action(async (paths: string[], options) => {
      const { verifyCommand } = await import('./verify.ts');
      exit = await verifyCommand(paths, options);
    });

  program
    .command('runner-verify')
    .description('Verify runner records by the Runner Specification; the answer is one line of JSON.')
    .argument('<file...>', 'runner records, or - for standard input')
    .option('--strict', 'unknown keys and bytes that are not canonical are violations too')
    .addOption(maxBytes())
    .addHelpText('after', EXITS)
    .action(async (files: string[], options) => {
      const { runnerVerifyCommand } = await import('./runner-verify.ts');
      exit = runnerVerifyCommand(files, options);
    });

  program
    .command('explain')
    .description('Say what a rule asks for and why, or what a document is; without a word, list everything.')
    .argument('[word...]', 'ids of rules such as RN7, or names of documents such as runner')
    .action(async (words: string[]) => {
      const { explainCommand } = await import('./explain.ts');
      exit = await explainCommand(words);
    });

  program
    .command('schema')
    .description('Print the JSON Schema (2020-12) of a document; without a name, list the names.')
    .argument('[name]', 'the name of a document such as runner')
    .action(async (name?: string) => {
      const { schemaCommand } = await import('./schema.ts');
      exit = await schemaCommand(name);
    });

  try {
    await program.parseAsync(args, { from: 'user' });
    return exit;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Fault) {
      stderr.write(`${error.message}\n`);
      return 2;
    }
    throw error;
  }
}

const EXITS = `
Exit codes: 0 valid · 1 not readable · 2 not one acceptable JSON document, not known, or bad usage · 3 rules broken.
With several inputs the highest counts.`;

function maxBytes(): Option {
  return new Option('--max-bytes <size>', 'replace the size cap of every document, such as 64m').argParser(bytes);
}

function bytes(text: string): number {
  const [, digits, unit] = /^(\d{1,12})([kmg]?)b?$/i.exec(text) ?? [];
  const size = Number(digits) * 1024 ** ' kmg'.indexOf(unit?.toLowerCase() || ' ');
  if (!Number.isSafeInteger(size) || size < 1 || size > BYTES_MAX) {
    throw new InvalidArgumentError('It takes a size from 1 byte to 256m, such as 65536, 512k or 64m.');
  }
  return size;
}

/** Above this, V8 may not make one string of a document. */
const BYTES_MAX = 256 * 1024 * 1024;

import { type Command, InvalidArgumentError, Option } from 'commander';
import { HELP } from '../text/help.ts';
import { collect, size } from '../text/units.ts';

/** The commands that verify documents and explain formats. */
export function addVerifyCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('verify')
    .description('Verify documents, NDJSON files, run folders and packs, and list the rules they break')
    .argument('<path...>', 'files, folders, packs, *.ndjson, a run such as latest, or - for standard input')
    .option('--as <name>', 'verify as this format, regardless of what the document declares')
    .option('--strict', HELP.strict)
    .option('--internal', 'allow sandbox_path and model_io_path in run results')
    .option('--ndjson', 'read one record per line')
    .addOption(maxBytes())
    .option(
      '--key <file>',
      'check folder signatures with this public key; repeatable, any of them may have signed',
      collect,
    )
    .option('--revoked <file>', 'with --key: public key that must not have signed; repeatable', collect)
    .option('--require-signature', 'with --key: reject folders without a signature')
    .option('--json', HELP.json)
    .addHelpText('after', EXITS)
    .action(async (paths: string[], options) => {
      const { verifyCommand } = await import('./verify.ts');
      ended(await verifyCommand(paths, options));
    });

  program
    .command('runner-verify')
    .description('Verify runner records as the Runner Specification defines; prints one line of JSON per file')
    .argument('<file...>', 'runner records, or - for standard input')
    .option('--strict', HELP.strict)
    .addOption(maxBytes())
    .option('--json', 'print one JSON document for all files, instead of one per line')
    .addHelpText('after', EXITS)
    .action(async (files: string[], options) => {
      const { runnerVerifyCommand } = await import('./runner-verify.ts');
      ended(runnerVerifyCommand(files, options));
    });

  addFormatCommands(program, ended);
}

/** The commands that describe formats. */
function addFormatCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('explain')
    .description('Explain rules or formats; without arguments, list them all')
    .argument('[word...]', 'rule ids such as RN7, rule families such as RN, or formats such as runner')
    .option('--json', HELP.json)
    .action(async (words: string[], options) => {
      const { explainCommand } = await import('./explain.ts');
      ended(await explainCommand(words, options));
    });

  program
    .command('schema')
    .description('Print the JSON Schema (2020-12) of a format; without a name, list the formats')
    .argument('[name]', 'format, such as runner')
    .option('--json', 'print one JSON document, even without a name')
    .action(async (name: string | undefined, options) => {
      const { schemaCommand } = await import('./schema.ts');
      ended(await schemaCommand(name, options));
    });

  program
    .command('example')
    .description('Print a valid example of a format; without a name, list the formats')
    .argument('[name]', 'format, such as runner')
    .option('--json', 'print one JSON document, even without a name')
    .action(async (name: string | undefined, options) => {
      const { exampleCommand } = await import('./schema.ts');
      ended(await exampleCommand(name, options));
    });
}

export function addKeysCommands(program: Command, ended: (code: number) => void): void {
  const keys = program.command('keys').description('Manage the key that signs seals');
  keys
    .command('new')
    .description('Create an Ed25519 key; Proctor signs every later run of this project with it')
    .option('--out <file>', 'file to write instead, for PROCTOR_KEY; the public key goes to the same folder')
    .option('--json', HELP.json)
    .action(async options => {
      const { newKeyCommand } = await import('./keys.ts');
      ended(await newKeyCommand(options));
    });
  keys
    .command('show')
    .description('Print the id of the key that signs runs in this project')
    .option('--json', HELP.json)
    .action(async options => {
      const { showKeyCommand } = await import('./keys.ts');
      ended(await showKeyCommand(options));
    });
}

const EXITS = `
Exit codes, the highest of all inputs:
  0  valid
  1  not readable
  2  not a valid JSON document, unknown format, or bad usage
  3  rules broken`;

function maxBytes(): Option {
  return new Option('--max-bytes <size>', 'maximum size of a document, such as 64m').argParser(documentSize);
}

function documentSize(text: string): number {
  const bytes = size(text);
  if (bytes >= 1 && bytes <= BYTES_MAX) return bytes;
  throw new InvalidArgumentError('Use a size from 1 byte to 256m, such as 65536, 512k or 64m.');
}

/** V8 cannot hold a much larger document in one string. */
const BYTES_MAX = 256 * 1024 * 1024;

import path from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { useStateFolder } from '../base/state-folder.ts';
import { stderr, stdout } from './out.ts';
import { addPackCommands } from './pack-commands.ts';
import { asksForJson, tellRefusal, writeRefusal } from './refusal.ts';
import { addRunCommands } from './run-commands.ts';

/** Reads the command line and does what it says. Returns the exit code. */
export async function main(args: readonly string[], version: string): Promise<number> {
  let exit = 0;
  const { XDG_STATE_HOME: states } = process.env;
  // A relative path is to be ignored, says the specification of these variables.
  if (states !== undefined && path.isAbsolute(states)) useStateFolder(path.join(states, 'proctor'));
  const program = new Command('proctor')
    .description(
      'Runs agents, scripts, intents and suites of cases inside bounds that it enforces, leaves evidence that anyone can verify offline, and says whether the new version of an agent is worse than the old one.',
    )
    .version(version)
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('(add --help for what there is)')
    .configureOutput({
      writeOut: stdout.write,
      writeErr: text => stderr.write(text.split('\n').map(printable).join('\n')),
    })
    .exitOverride();

  const ended = (code: number): void => {
    exit = code;
  };
  addRunCommands(program, ended);
  addPackCommands(program, ended);

  program
    .command('verify')
    .description('Say whether documents, NDJSON files, folders and packs may be believed, and which rules they break.')
    .argument('<path...>', 'files, folders, packs, *.ndjson, a run such as latest, or - for standard input')
    .option('--as <name>', 'judge by this format, whatever the document says of itself')
    .option('--strict', 'unknown keys and bytes that are not canonical are violations too')
    .option('--internal', 'allow sandbox_path and model_io_path in run results')
    .option('--ndjson', 'files and standard input hold a record per line')
    .addOption(maxBytes())
    .option('--key <file>', 'a public key: are the seals of the folders signed with it?')
    .option('--require-signature', 'together with --key: a folder that is not signed is invalid')
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', EXITS)
    .action(async (paths: string[], options) => {
      const { verifyCommand } = await import('./verify.ts');
      exit = await verifyCommand(paths, options);
    });

  const keys = program.command('keys').description('Make the key that seals are signed with.');
  keys
    .command('new')
    .description('Make an Ed25519 key; every run of this place is signed with it from then on.')
    .option('--out <file>', 'write it there instead, for PROCTOR_KEY to name; its public half goes beside it')
    .option('--json', 'answer with one JSON document')
    .action(async options => {
      const { newKeyCommand } = await import('./keys.ts');
      exit = await newKeyCommand(options);
    });
  keys
    .command('show')
    .description('Say what the key is called that a run here would be signed with.')
    .option('--json', 'answer with one JSON document')
    .action(async options => {
      const { showKeyCommand } = await import('./keys.ts');
      exit = await showKeyCommand(options);
    });

  program
    .command('runner-verify')
    .description('Verify runner records by the Runner Specification; the answer is a line of JSON per file.')
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
    .description('Say what a rule or a format asks for, and why; without a word, list everything.')
    .argument('[word...]', 'ids of rules such as RN7, families such as RN, or names of formats such as runner')
    .action(async (words: string[]) => {
      const { explainCommand } = await import('./explain.ts');
      exit = await explainCommand(words);
    });

  program
    .command('schema')
    .description('Print the JSON Schema (2020-12) of a format; without a name, list the names.')
    .argument('[name]', 'the name of a format such as runner')
    .action(async (name?: string) => {
      const { schemaCommand } = await import('./schema.ts');
      exit = await schemaCommand(name);
    });

  program
    .command('example')
    .description('Print a valid document of a format; without a name, list the names.')
    .argument('[name]', 'the name of a format such as runner')
    .action(async (name?: string) => {
      const { exampleCommand } = await import('./schema.ts');
      exit = await exampleCommand(name);
    });

  try {
    await program.parseAsync(args, { from: 'user' });
    return exit;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // Whoever reads the answer of `run intent` reads a document, whatever happened.
    if (args[0] === 'run' && args[1] === 'intent') {
      const { toldUsage } = await import('./run-intent.ts');
      return toldUsage(error);
    }
    const isJson = asksForJson(args);
    if (error instanceof CommanderError) {
      // It has told people already.
      if (isJson) writeRefusal({ code: 'usage', message: usageText(error) });
      return 2;
    }
    if (error instanceof Fault) {
      tellRefusal(error, isJson);
      return 2;
    }
    if (error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd') {
      tellRefusal({ code: 'no_folder', message: 'The folder that you are in does not exist any more.' }, isJson);
      return 2;
    }
    throw error;
  }
}

/** What the parser says, as one sentence; of a command that is only the beginning of one it says nothing. */
function usageText({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'The command is not complete: --help says what there is.';
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}

const EXAMPLES = `
Examples:
  proctor run script report.py --input data.csv --timeout 30s
  proctor run agent --agent claude --task "add a test for parse()" --policy edit
  proctor apply latest                      bring home what the agent changed
  proctor run intent intent.json --policy strict --mode execute-sandbox > run.json
  proctor reproduce latest                  does the same come out again, byte for byte?
  proctor run suite cases.yaml --base-url http://127.0.0.1:8787 --as baseline
  proctor compare                           is the newest run of the side new worse than the baseline?
  proctor gate before.xml after.xml         are results of another tool worse than before?
  proctor show latest                       what it did, within which bounds, and what it left
  proctor verify latest                     whether the evidence of it may be believed
  proctor pack latest                       one file of it, to send or to keep
  proctor example runner > runner.json      a record to begin with
  proctor verify runner.json                one document
  proctor verify run.json all.ndjson runs/  files, a record per line, folders
  proctor explain RN7                       what a rule asks for, and why`;

const EXITS = `
Exit codes, the highest of all inputs:
  0  valid
  1  not readable
  2  not one acceptable JSON document, of no known format, or bad usage
  3  rules broken`;

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

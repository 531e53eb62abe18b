import type { Command } from 'commander';
import { HELP } from '../text/help.ts';
import { collect } from '../text/units.ts';

/** The command that publishes scripts for end users. */
export function addPublishCommand(program: Command, ended: (code: number) => void): void {
  program
    .command('publish')
    .description('Publish a folder with a script.yaml, so that end users can run its script')
    .argument('[folder]', 'folder with a script.yaml')
    .option('--draft', 'store the version without offering it; only its author can try it')
    .option('--list', 'list all scripts and their versions')
    .option('--withdraw <name@version>', 'stop offering a version')
    .option('--rollback <name>', 'offer the version before the current one again')
    .option('--try <name[@version]>', 'run a draft or a published version here')
    .option('--set <name=value>', 'with --try: the value of an input; repeatable', collect)
    .option('--file <name=file>', 'with --try: a file for an input; repeatable', collect)
    .option('--on <url>', 'publish, list, withdraw or roll back on this server; needs a token in PROCTOR_TOKEN')
    .option('--token-file <file>', 'with --on: file with the token')
    .option('--json', HELP.json)
    .addHelpText('after', PUBLISH_EXITS)
    .action(async (folder: string | undefined, flags) => {
      const { publishCommand } = await import('./publish.ts');
      ended(await publishCommand(folder, flags));
    });
}

const PUBLISH_EXITS = `
A version never changes: publish changed files under a new version.

Exit codes:
  0  published, listed, withdrawn or rolled back; with --try, the script succeeded
  1  with --try: the script did not succeed
  2  the folder, the inputs or the version were refused, or a machine fault;
     with --on, also if the server cannot be reached`;

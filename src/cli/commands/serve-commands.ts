import { type Command, Option } from 'commander';
import { HELP } from '../text/help.ts';
import { atLeastOne, collect, duration } from '../text/units.ts';
import type { ServeFlags } from './serve.ts';

/** The commands around the server. */
export function addServeCommands(program: Command, ended: (code: number) => void): void {
  program
    .command('serve')
    .description('Serve the live viewer and the API of this project')
    .option('--listen <address>', 'address and port to listen on', '127.0.0.1:7700')
    .option('--host <name>', 'name that browsers use for this server, with an optional port; repeatable', collect)
    .option('--tls-behind-proxy', 'trust the X-Forwarded headers of a proxy that ends TLS, and refuse plain http')
    .option('--oidc <issuer>', 'let people sign in at this OpenID Connect provider')
    .option('--oidc-client <id>', 'client id at the provider; its secret is in PROCTOR_OIDC_SECRET')
    .option('--oidc-role <rule>', 'role of a group, domain or email, such as admin=group:ops; repeatable', collect)
    .addOption(
      new Option('--oidc-default <role>', 'role of people without a rule (default: user)').choices([
        'none',
        'user',
        'viewer',
        'runner',
        'admin',
      ]),
    )
    .option('--rate <count>', 'maximum number of requests per minute and identity (default: 6000)', atLeastOne)
    .addOption(
      new Option('--drain <time>', 'how long open requests and runs may take when the server stops')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option('--runs <count>', 'how many suites run at once', atLeastOne, 2)
    .option('--secret <name>', 'an environment variable that ordered suites may use; repeatable', collect)
    .option('--allow-target <origin>', 'ordered suites may ask only this origin; repeatable', collect)
    .option('--queue [url]', 'queue whose attempts workers get here: the URL of PostgreSQL (default: PROCTOR_QUEUE)')
    .option('--store <address>', 'folder or s3://… for replies and cases of the queue above 64 KiB')
    .addOption(
      new Option('--scripts-on <place>', 'where published scripts run').choices(['here', 'workers']).default('here'),
    )
    .option(
      '--worker-key <file>',
      'public key of a worker; the server takes runs of published scripts only from these keys; repeatable',
      collect,
    )
    .option('--stop-runs', 'interrupt running suites when the server stops')
    .option('--json', 'print the address as one JSON document')
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import('./serve.ts');
      ended(await serveCommand(flags));
    });
  addTokenCommands(program, ended);
}

function addTokenCommands(program: Command, ended: (code: number) => void): void {
  const token = program.command('token').description('Manage the tokens that open the server of this project');
  token
    .command('new')
    .description('Create a token; Proctor prints it once and stores only its hash')
    .addOption(
      new Option('--role <role>', 'what the token may do')
        .choices(['user', 'viewer', 'runner', 'admin', 'worker'])
        .makeOptionMandatory(),
    )
    .requiredOption('--name <name>', 'name of its owner or use, for lists and the audit log')
    .option('--group <name>', 'group of the token, for published scripts that name it in who; repeatable', collect)
    .option('--rate <count>', 'requests per minute of the token, instead of the limit of the server', atLeastOne)
    .option('--waiting <count>', 'orders of the token that may wait, instead of 100', atLeastOne)
    .option('--expires <time>', 'time until it expires, such as 12h or 90d (default: 90d)', duration)
    .option('--json', HELP.json)
    .addHelpText('after', TOKEN_ROLES)
    .action(async flags => {
      const { newTokenCommand } = await import('./token.ts');
      ended(await newTokenCommand(flags));
    });
  token
    .command('list')
    .description('List the tokens, without their secrets')
    .option('--json', HELP.json)
    .action(async flags => {
      const { listTokensCommand } = await import('./token.ts');
      ended(await listTokensCommand(flags));
    });
  token
    .command('revoke')
    .description('Revoke a token for good; a running server refuses it at once')
    .argument('<id>', 'id from proctor token list')
    .option('--json', HELP.json)
    .action(async (id: string, flags) => {
      const { revokeTokenCommand } = await import('./token.ts');
      ended(await revokeTokenCommand(id, flags));
    });
}

const TOKEN_ROLES = `
Roles, each with the rights of those before it:
  user    runs published scripts and sees its own runs of them
  viewer  reads all runs
  runner  starts, cancels and resumes runs, and publishes scripts
  admin   reads logs and the audit log, manages tokens, withdraws scripts
The role worker stands apart: it opens only the routes of workers.`;

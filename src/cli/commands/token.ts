import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import type { ServerRole } from '../../serve/access/roles.ts';
import { terminalAct } from '../../serve/access/terminal-act.ts';
import { Tokens } from '../../serve/access/tokens.ts';
import { serverFolder } from '../../serve/state/server-folder.ts';
import { serverHome } from '../../verbs/server-home.ts';
import { stdout } from '../text/out.ts';
import { tableLines } from '../text/table.ts';

export async function newTokenCommand(flags: {
  readonly role: ServerRole;
  readonly name: string;
  readonly group?: readonly string[];
  readonly expires?: number;
  readonly rate?: number;
  readonly waiting?: number;
  readonly json?: true;
}): Promise<number> {
  const folder = folderHere();
  const { token, text } = await terminalAct(folder, systemClock, {
    verb: 'newToken',
    thing: '/v1/tokens',
    act: () =>
      new Tokens(folder, systemClock).create({
        name: flags.name,
        role: flags.role,
        groups: flags.group,
        expiresInMs: flags.expires,
        quotas: { rate: flags.rate, waiting: flags.waiting },
      }),
    made: ({ token: { id } }) => `/v1/tokens/${id}`,
  });
  if (flags.json) {
    stdout.write(`${printableJson({ token: text, ...token })}\n`);
    return 0;
  }
  stdout.write(
    [
      text,
      '',
      `Proctor does not show this token again. It has the role ${token.role} and expires on ${token.expires_at.slice(0, 10)}.`,
      `To revoke it: proctor token revoke ${token.id}`,
      '',
    ].join('\n'),
  );
  return 0;
}

export async function listTokensCommand({ json }: { readonly json?: true }): Promise<number> {
  const tokens = new Tokens(folderHere(), systemClock).list();
  if (json) {
    stdout.write(`${printableJson({ tokens })}\n`);
    return 0;
  }
  if (tokens.length === 0) {
    stdout.write('No tokens yet. Create one with proctor token new --role ROLE --name NAME.\n');
    return 0;
  }
  const rows = tokens.map(
    ({ id, name, prefix, role, groups, state, expires_at: expires, last_used_on: used, ...quotas }) => [
      id,
      `${prefix}…`,
      role,
      groups.join(', ') || '–',
      quotas.rate === null ? '–' : `${quotas.rate}/min`,
      quotas.waiting === null ? '–' : String(quotas.waiting),
      state,
      expires.slice(0, 10),
      used ?? 'never',
      printable(name),
    ],
  );
  stdout.write(
    `${tableLines([['id', 'token', 'role', 'groups', 'rate', 'waiting', 'state', 'expires', 'last used', 'name'], ...rows]).join('\n')}\n`,
  );
  return 0;
}

export async function revokeTokenCommand(id: string, { json }: { readonly json?: true }): Promise<number> {
  const folder = folderHere();
  const token = await terminalAct(folder, systemClock, {
    verb: 'revokeToken',
    thing: `/v1/tokens/${id}`,
    act: async () => {
      const revoked = await new Tokens(folder, systemClock).revoke(id);
      if (!revoked) throw new Fault('not_found', 'No token has this id. Run proctor token list.');
      return revoked;
    },
  });
  stdout.write(json ? `${printableJson(token)}\n` : `Revoked ${token.id} (${printable(token.name)}).\n`);
  return 0;
}

const folderHere = (): string => serverFolder(serverHome(process.cwd()));

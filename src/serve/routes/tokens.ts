import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import { between, matching, record } from '../../contracts/shape.ts';
import { SERVER_ROLES } from '../access/roles.ts';
import { tokenGroups, tokenQuotas } from '../access/tokens.ts';
import { route } from '../http/route.ts';

const tokenRow = record({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  role: z.enum(SERVER_ROLES),
  groups: z.array(z.string()),
  rate: z.nullable(z.number()),
  waiting: z.nullable(z.number()),
  created_at: z.string(),
  expires_at: z.string(),
  revoked_at: z.nullable(z.string()),
  last_used_on: z.nullable(z.string()),
  state: z.enum(['active', 'expired', 'revoked']),
});

export const listTokensRoute = route({
  name: 'listTokens',
  method: 'GET',
  path: '/v1/tokens',
  role: 'admin',
  why: 'Lists the tokens, without their secrets.',
  gives: record({ tokens: z.array(tokenRow) }),
  act: (_, { server }) => ({ tokens: server.access.tokens.list() }),
});

export const newTokenRoute = route({
  name: 'newToken',
  method: 'POST',
  path: '/v1/tokens',
  role: 'admin',
  why: 'Creates a token and shows it once.',
  body: record({
    name: z.string().check(z.maxLength(100)),
    role: z.enum(SERVER_ROLES),
    groups: z.optional(tokenGroups()),
    expires_in_days: z.optional(between(1, 3_660)),
    ...tokenQuotas().shape,
  }),
  gives: record({ token: z.string(), created: tokenRow }),
  refuses: { too_many: 409, busy: 503 },
  act: async ({ body: { name, role, groups, expires_in_days: days, rate, waiting } }, { server }) => {
    const expiresInMs = days === undefined ? undefined : days * 86_400_000;
    const { token, text } = await server.access.tokens.create({
      name,
      role,
      groups,
      expiresInMs,
      quotas: { rate, waiting },
    });
    return { token: text, created: token };
  },
  made: value => `/v1/tokens/${(value as { readonly created: { readonly id: string } }).created.id}`,
});

export const revokeTokenRoute = route({
  name: 'revokeToken',
  method: 'DELETE',
  path: '/v1/tokens/{id}',
  role: 'admin',
  why: 'Revokes a token for good.',
  params: record({ id: matching(/^tok_[0-9a-f]{16}$/, 'the id of a token') }),
  gives: tokenRow,
  refuses: { busy: 503 },
  act: async ({ params }, { server }) => {
    const token = await server.access.tokens.revoke(params.id);
    if (!token) throw new Fault('not_found', 'No token has this id.');
    return token;
  },
});

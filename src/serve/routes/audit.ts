import * as z from 'zod/mini';
import { count, matching, record } from '../../contracts/shape.ts';
import type { AuditLine } from '../access/audit.ts';
import { route } from '../http/route.ts';

const auditEntry = record({
  sequence: count(),
  at: z.string(),
  who: z.nullable(z.string()),
  name: z.nullable(z.string()),
  role: z.nullable(z.string()),
  verb: z.string(),
  thing: z.nullable(z.string()),
  outcome: z.nullable(z.enum(['done', 'refused', 'failed', 'unknown'])),
  code: z.nullable(z.string()),
  correlation_id: z.string(),
});

export const auditRoute = route({
  name: 'audit',
  method: 'GET',
  path: '/v1/audit',
  role: 'admin',
  why: 'Lists what was done on this server, newest first.',
  query: record({
    before: z.optional(matching(/^[1-9]\d{0,14}$/, 'a sequence number')),
    limit: z.optional(matching(/^(?:[1-9]\d?|1\d\d|200)$/, 'a number from 1 to 200')),
  }),
  gives: record({ entries: z.array(auditEntry), next: z.nullable(count()) }),
  act: ({ query: { before, limit } }, { server }) => {
    const { lines, next } = server.access.audit.page({
      ...(before !== undefined && { before: Number(before) }),
      limit: Number(limit ?? 50),
    });
    return { entries: lines.map(entryOf), next };
  },
});

/** An entry without what only the file needs. */
function entryOf({ schema_version: _version, previous_sha256: _previous, began: _began, ...entry }: AuditLine) {
  return entry;
}

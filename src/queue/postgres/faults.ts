import { codeOf, Fault } from '../../base/fault.ts';

/** Turns an error of PostgreSQL or its connection into a fault. The message never contains the address or its password. */
export function queueFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  if (cause instanceof Error && cause.message === NO_TLS) {
    return new Fault('queue_tls', 'PostgreSQL does not offer TLS here, but the address demands it with sslmode.', {
      cause,
    });
  }
  const code = codeOf(cause);
  const [name, message] = KNOWN[code] ?? (isAnswer(code) && !RETRIED.test(code) ? REJECTED : UNAVAILABLE);
  return new Fault(name, message, { cause });
}

/** Whether the same call can succeed a moment later. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Fault && error.code === UNAVAILABLE[0];
}

type Known = readonly [code: string, message: string];

const MIGRATE = 'Run `proctor queue migrate` with the address of the database.';
const UNAVAILABLE: Known = ['queue_unavailable', 'PostgreSQL does not answer. Check that it runs and can be reached.'];
const REJECTED: Known = ['queue_failed', 'PostgreSQL rejected a statement of the queue. Its log contains the reason.'];
const LOGIN: Known = ['queue_login', 'PostgreSQL rejected the user or the password. Check the address of the queue.'];
const NOT_MIGRATED: Known = ['queue_not_migrated', `The database contains no queue of Proctor. ${MIGRATE}`];
const NO_RIGHTS: Known = [
  'queue_rights',
  'The user of the queue lacks a right in PostgreSQL. docs/scale.md lists what it needs.',
];

/** By SQLSTATE or by system error. */
const KNOWN: Readonly<Record<string, Known>> = {
  '28000': LOGIN,
  '28P01': LOGIN,
  '3D000': [
    'queue_database',
    'PostgreSQL has no database with this name. Create it, then run `proctor queue migrate`.',
  ],
  '3F000': NOT_MIGRATED,
  '42P01': NOT_MIGRATED,
  '42501': NO_RIGHTS,
  ENOTFOUND: ['queue_host', 'The host of the queue does not exist. Check the address of the queue.'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['queue_certificate', 'The certificate of PostgreSQL is for another host.'],
  SELF_SIGNED_CERT_IN_CHAIN: ['queue_certificate', 'The certificate of PostgreSQL is not trusted on this machine.'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['queue_certificate', 'The certificate of PostgreSQL is not trusted on this machine.'],
};

/** From pg, which gives it no code. */
const NO_TLS = 'The server does not support SSL connections';

function isAnswer(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code);
}

/**
 * Classes of SQLSTATE that say nothing about the statement: connection lost (08), rolled back because of others (40),
 * no resources (53), lock not available (55P03), shutdown, startup or time limit (57), system error (58).
 */
const RETRIED = /^(?:08|40|53|57|58)|^55P03$/;

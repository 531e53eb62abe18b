import { codeOf, Fault, fullDisk } from '../../base/fault.ts';
import { InputsFault } from '../../publish/inputs-fault.ts';
import type { FieldFault } from '../../publish/inputs.ts';
import { BusyFault } from '../operation/busy-fault.ts';
import { AnswersFault } from '../../verbs/answers-fault.ts';
import type { RefusalStatus, Route } from './route.ts';

/** A refusal as the API sends it. */
export interface HttpRefusal {
  readonly status: RefusalStatus;
  readonly code: string;
  readonly message: string;
  readonly retryAfterS?: number;
  /** What is wrong with each field of a form. */
  readonly fields?: readonly FieldFault[];
}

/** The refusals that every route shares. */
export const COMMON_REFUSALS: Readonly<Record<string, RefusalStatus>> = {
  wrong_host: 400,
  client_gone: 400,
  not_signed_in: 401,
  bad_token: 401,
  bad_secret: 401,
  login_failed: 401,
  not_secure: 403,
  wrong_origin: 403,
  no_role: 403,
  role_too_low: 403,
  not_found: 404,
  no_run: 404,
  no_oidc: 404,
  usage: 422,
  invalid_input: 422,
  body_too_large: 413,
  too_many_requests: 429,
  busy: 503,
  too_slow: 503,
  thread_failed: 503,
  audit_failed: 503,
  write_failed: 503,
  storage_failed: 503,
  order_failed: 503,
  upload_failed: 503,
  publish_failed: 503,
  journal_failed: 503,
  folder_failed: 503,
  server_folder: 503,
  state_folder: 503,
  foreign_state: 503,
  lock_failed: 503,
  oidc_unreachable: 503,
  draining: 503,
  bug: 500,
};

/** What an error means for a client: the disk of the server fails, or the server has a bug. */
export function faultOfError(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!DISK.has(codeOf(error))) return new Fault('bug', 'The server hit an internal error.', { cause: error });
  const message = `The server cannot read or write its files${fullDisk(error)}. Try again later, or tell its operator.`;
  return new Fault('storage_failed', message, { cause: error });
}

const DISK: ReadonlySet<string> = new Set([
  'EACCES',
  'EDQUOT',
  'EIO',
  'EISDIR',
  'ELOOP',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
  'ESTALE',
]);

/** How a route refuses because of a fault. The message of a fault is safe to send. */
export function httpRefusal(fault: Fault, route: Route | undefined): HttpRefusal {
  const status = route?.refuses?.[fault.code] ?? COMMON_REFUSALS[fault.code] ?? 500;
  const { code, message } = fault;
  return {
    status,
    code,
    message,
    ...(fault instanceof BusyFault && { retryAfterS: fault.retryAfterS }),
    ...((fault instanceof InputsFault || fault instanceof AnswersFault) && { fields: fault.fields }),
  };
}

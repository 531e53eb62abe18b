import type { Fault } from '../../base/fault.ts';
import { InputsFault } from '../../publish/inputs-fault.ts';
import type { FieldFault } from '../../publish/inputs.ts';
import { BusyFault } from '../operation/busy-fault.ts';
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
  audit_failed: 503,
  write_failed: 503,
  oidc_unreachable: 503,
  draining: 503,
  bug: 500,
};

/** How a route refuses because of a fault. The message of a fault is safe to send. */
export function httpRefusal(fault: Fault, route: Route | undefined): HttpRefusal {
  const status = route?.refuses?.[fault.code] ?? COMMON_REFUSALS[fault.code] ?? 500;
  const { code, message } = fault;
  return {
    status,
    code,
    message,
    ...(fault instanceof BusyFault && { retryAfterS: fault.retryAfterS }),
    ...(fault instanceof InputsFault && { fields: fault.fields }),
  };
}

import type { Api } from '../../contracts/recording/index.ts';

/** An error in the format of an API, so that the agent understands it. */
export function apiError(api: Api, status: number, message: string): string {
  const type = TYPES[status] ?? 'api_error';
  if (api === 'anthropic') return JSON.stringify({ type: 'error', error: { type, message } });
  if (api === 'gemini')
    return JSON.stringify({ error: { code: status, message, status: GEMINI_STATUS[status] ?? 'UNAVAILABLE' } });
  return JSON.stringify({ error: { message, type, param: null, code: null } });
}

const GEMINI_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  405: 'INVALID_ARGUMENT',
  413: 'INVALID_ARGUMENT',
  501: 'UNIMPLEMENTED',
};

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  501: 'invalid_request_error',
};

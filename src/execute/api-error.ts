import type { Api } from '../contracts/recording/index.ts';

/** An error in the words of an API, so that an agent understands it. */
export function apiError(api: Api, status: number, message: string): string {
  const type = TYPES[status] ?? 'api_error';
  return JSON.stringify(
    api === 'anthropic'
      ? { type: 'error', error: { type, message } }
      : { error: { message, type, param: null, code: null } },
  );
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  501: 'invalid_request_error',
};

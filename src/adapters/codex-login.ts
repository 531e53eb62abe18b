import { readJson } from '../base/json.ts';
import { isObject } from '../contracts/kind.ts';
import { headerWord, type LoginFile } from './login.ts';

/** The login that `codex login` stores. It is valid at a different address than an API key. */
export const codexLogin: LoginFile = {
  folderVariable: 'CODEX_HOME',
  folder: '.codex',
  file: 'auth.json',
  as: 'bearer',
  // Not OPENAI_BASE_URL: a gateway for API keys must not receive a login.
  urlVariable: 'CHATGPT_BASE_URL',
  defaultUrl: 'https://chatgpt.com/backend-api/codex',
  held(value) {
    const tokens = isObject(value) ? value['tokens'] : undefined;
    if (!isObject(tokens)) return undefined;
    const token = headerWord(tokens['access_token']);
    const account = headerWord(tokens['account_id']);
    const expiresAtMs = token === undefined ? undefined : expiryOf(token);
    if (token === undefined || account === undefined || expiresAtMs === undefined) return undefined;
    const others = [tokens['refresh_token'], tokens['id_token']].filter(one => typeof one === 'string');
    return {
      token,
      expiresAtMs,
      headers: { 'chatgpt-account-id': account },
      secrets: [token, account, ...others],
    };
  },
};

/** The expiry of a JSON Web Token. The API checks its signature. */
function expiryOf(token: string): number | undefined {
  const [, payload = '', ...rest] = token.split('.');
  const reading = rest.length === 1 ? readJson(Buffer.from(payload, 'base64url'), { bytesMax: 16_384 }) : undefined;
  const seconds = reading?.ok && isObject(reading.value) ? reading.value['exp'] : undefined;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds * 1_000) ? seconds * 1_000 : undefined;
}

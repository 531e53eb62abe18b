import { readJson } from '../base/json.ts';
import { isObject } from '../contracts/kind.ts';
import { headerWord, type LoginFile } from './login.ts';

/** The login of Codex: what `codex login` keeps. It is valid at another address than a key is. */
export const codexLogin: LoginFile = {
  folderVariable: 'CODEX_HOME',
  folder: '.codex',
  file: 'auth.json',
  as: 'bearer',
  // Not OPENAI_BASE_URL: a gateway that takes keys must not be sent a login.
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

/** When a JSON Web Token expires. Its signature is the API's to check. */
function expiryOf(token: string): number | undefined {
  const [, payload = '', ...rest] = token.split('.');
  const reading = rest.length === 1 ? readJson(Buffer.from(payload, 'base64url'), { bytesMax: 16_384 }) : undefined;
  const seconds = reading?.ok && isObject(reading.value) ? reading.value['exp'] : undefined;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds * 1_000) ? seconds * 1_000 : undefined;
}

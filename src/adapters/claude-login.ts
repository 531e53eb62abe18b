import { isObject } from '../contracts/kind.ts';
import { headerWord, type LoginFile } from './login.ts';

/** The login that `claude` stores after `/login`. */
export const claudeLogin: LoginFile = {
  folderVariable: 'CLAUDE_CONFIG_DIR',
  folder: '.claude',
  file: '.credentials.json',
  as: 'oauth',
  urlVariable: 'ANTHROPIC_BASE_URL',
  defaultUrl: 'https://api.anthropic.com',
  held(value) {
    const login = isObject(value) ? value['claudeAiOauth'] : undefined;
    if (!isObject(login)) return undefined;
    const token = headerWord(login['accessToken']);
    const expiresAtMs = login['expiresAt'];
    if (token === undefined || typeof expiresAtMs !== 'number' || !Number.isSafeInteger(expiresAtMs)) return undefined;
    const refresh = login['refreshToken'];
    return { token, expiresAtMs, headers: {}, secrets: [token, ...(typeof refresh === 'string' ? [refresh] : [])] };
  },
};

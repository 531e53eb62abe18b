/** What a person sees who opens an address that the server refuses. */
import { expect, test } from 'vitest';
import { send, world } from '../access/serve-world.ts';

const OPENED = [
  ['Sec-Fetch-Mode', 'navigate'],
  ['Sec-Fetch-Dest', 'document'],
] as const;

test.each([
  ['/nothing', 404, 'not_found'],
  ['/v1/nothing', 404, 'not_found'],
  ['/v1/runs/suite_1/pack', 401, 'not_signed_in'],
  ['/login/callback?error=access_denied', 404, 'no_oidc'],
  ['/v1/session/ways?a=%22%3E%3Cscript%3Ealert(1)%3C/script%3E', 422, 'invalid_input'],
])('a browser that opens %s gets a page with the reason, and a program gets JSON', async (target, status, code) => {
  const at = await world();
  const page = await send(at, 'GET', target, OPENED);
  expect(page.status).toBe(status);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.headers['content-security-policy']).toContain("script-src 'self'");
  const [, text = ''] = /<meta name="refusal" content="([^"<>]*)">/.exec(page.text) ?? [];
  expect(JSON.parse(text.replaceAll('&quot;', '"').replaceAll(/&[lg]t;|&amp;/g, ''))).toMatchObject({ code });
  expect(page.text).not.toContain('<script>');
  const json = await send(at, 'GET', target);
  expect([json.status, json.code]).toEqual([status, code]);
  expect((await send(at, 'GET', target, [['Sec-Fetch-Mode', 'cors']])).code).toBe(code);
});

test('a wrong host name gets no page, because the page could not load its files', async () => {
  const at = await world();
  expect((await send(at, 'GET', '/', [['Host', 'evil.example'], ...OPENED])).code).toBe('wrong_host');
});

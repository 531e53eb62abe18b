import { expect, test } from 'vitest';
import { proxyFor } from '../../../src/execute/model/proxy.ts';

const PROXY = 'http://proxy.invalid:3128';

test.each([
  ['https://api.example.com', { HTTPS_PROXY: PROXY }, PROXY],
  ['https://api.example.com', { https_proxy: PROXY, HTTPS_PROXY: 'http://other.invalid' }, PROXY],
  ['https://api.example.com', { HTTP_PROXY: PROXY }, undefined],
  ['http://api.example.com', { HTTP_PROXY: PROXY, HTTPS_PROXY: 'http://other.invalid' }, PROXY],
  ['https://api.example.com', { HTTPS_PROXY: 'proxy.invalid:3128' }, PROXY],
  ['https://api.example.com', { HTTPS_PROXY: '' }, undefined],
  ['https://localhost:8443', { HTTPS_PROXY: PROXY }, undefined],
  ['https://127.8.0.1', { HTTPS_PROXY: PROXY }, undefined],
  ['https://[::1]:1', { HTTPS_PROXY: PROXY }, undefined],
  ['https://127.example.com', { HTTPS_PROXY: PROXY }, PROXY],
  ['no address', { HTTPS_PROXY: PROXY }, undefined],
])('%s with %j uses the proxy %s', (address, environment, url) => {
  expect(proxyFor(address, environment)?.url).toBe(url);
});

test.each([
  ['*', true],
  ['example.com', true],
  ['.example.com', true],
  ['*.example.com', true],
  ['API.Example.com', true],
  ['api.example.com:443', true],
  ['api.example.com:80', false],
  ['ample.com', false],
  ['other.invalid, example.com', true],
  ['other.invalid example.com', true],
  [', ,', false],
])('NO_PROXY=%j exempts api.example.com: %j', (NO_PROXY, isExempt) => {
  const proxy = proxyFor('https://api.example.com', { HTTPS_PROXY: PROXY, NO_PROXY });
  expect(proxy === undefined).toBe(isExempt);
});

test('masks the password of a proxy in every form in which it is sent', () => {
  const { secrets = [] } = proxyFor('https://a.example', { HTTPS_PROXY: 'http://me:p%40ssw0rd@proxy.invalid' }) ?? {};
  expect(secrets).toEqual(
    expect.arrayContaining(['p@ssw0rd', 'me:p@ssw0rd', Buffer.from('me:p@ssw0rd').toString('base64')]),
  );
  expect(proxyFor('https://a.example', { HTTPS_PROXY: PROXY })?.secrets).toEqual([]);
});

test.each(['socks5://proxy.invalid', 'ftp://proxy.invalid', 'http://', 'http://me:%zz@proxy.invalid'])(
  'refuses an invalid proxy without showing its address: %s',
  HTTPS_PROXY => {
    const asked = (): unknown => proxyFor('https://a.example', { HTTPS_PROXY });
    expect(asked).toThrow('HTTPS_PROXY must be a proxy URL that starts with http:// or https://.');
  },
);

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddress, type HostSettings, isLoopback, placeOfRequest } from '../../../src/serve/access/hosts.ts';
import { RateLimits } from '../../../src/serve/access/limits.ts';

const asked = (host: string, more: readonly string[] = []) => ({
  method: 'GET',
  url: '/',
  rawHeaders: ['Host', host, ...more],
  socket: { remoteAddress: '10.0.0.1' },
});

const loopback: HostSettings = { listen: '127.0.0.1', port: 7700, names: [], isBehindProxy: false };
const OWN = new Set(['127.0.0.1:7700', 'localhost:7700', '[::1]:7700']);

describe('a host', () => {
  test('that a URL parser reads as another one is never served', () => {
    const part = fc.constantFrom(
      '127.0.0.1',
      'localhost',
      '[::1]',
      ':7700',
      ':80',
      '.',
      '@',
      '#',
      '/',
      '\\',
      '%',
      'evil',
      ' ',
      '\t',
      '0',
      ',',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), parts => {
        const host = parts.join('');
        try {
          placeOfRequest(asked(host), loopback);
        } catch {
          return true;
        }
        return OWN.has(new URL(`http://${host}`).host) && OWN.has(host);
      }),
      { numRuns: 2_000 },
    );
  });

  test('gives the origin that a browser would send', () => {
    const originOf = (host: string, settings: Partial<HostSettings>, more: string[] = []) =>
      placeOfRequest(asked(host, more), { ...loopback, ...settings }).origin;
    expect(originOf('LOCALHOST:7700', {})).toBe('http://localhost:7700');
    expect(originOf('localhost', { port: 80 })).toBe('http://localhost');
    expect(originOf('localhost:80', { port: 80 })).toBe('http://localhost');
    const proxied = { isBehindProxy: true, names: ['a.example', 'b.example:8443'] };
    const https = ['X-Forwarded-Proto', 'https'];
    expect(originOf('a.example', proxied, https)).toBe('https://a.example');
    expect(originOf('a.example:443', proxied, https)).toBe('https://a.example');
    expect(originOf('b.example:8443', proxied, https)).toBe('https://b.example:8443');
    expect(() => originOf('b.example', proxied, https)).toThrow('another name');
    expect(() => originOf('127.0.0.1:7700', proxied, https)).toThrow('another name');
  });

  test('may be any literal address if the server listens everywhere, because it needs no DNS', () => {
    const everywhere = { ...loopback, listen: '0.0.0.0' };
    expect(placeOfRequest(asked('192.0.2.7:7700'), everywhere).origin).toBe('http://192.0.2.7:7700');
    expect(placeOfRequest(asked('[2001:db8::1]:7700'), everywhere).origin).toBe('http://[2001:db8::1]:7700');
    expect(() => placeOfRequest(asked('evil.example:7700'), everywhere)).toThrow('another name');
  });
});

test('only 127.0.0.0/8, ::1 and localhost are loopback', () => {
  const yes = ['127.0.0.1', '127.255.0.3', '::1', 'localhost'];
  const no = [
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '127.0.0.1.evil.example',
    '127.1',
    '1270.0.0.1',
    '127.0.0.256',
    '',
    '::ffff:127.0.0.1',
  ];
  expect([...yes, ...no].filter(isLoopback)).toEqual(yes);
});

test('the address of a client is the last note of the proxy, and a /64 of IPv6', () => {
  const from = (address: string, isBehindProxy: boolean, ...notes: string[]) =>
    clientAddress(
      { rawHeaders: notes.flatMap(note => ['X-Forwarded-For', note]), socket: { remoteAddress: address } },
      isBehindProxy,
    );
  expect(from('10.0.0.1', false, '6.6.6.6')).toBe('10.0.0.1');
  expect(from('10.0.0.1', true, '6.6.6.6, 7.7.7.7')).toBe('7.7.7.7');
  expect(from('10.0.0.1', true, '6.6.6.6', '7.7.7.7')).toBe('7.7.7.7');
  expect(from('10.0.0.1', true, '<script>')).toBe('10.0.0.1');
  // A client has a port for each connection, so a port would give it a new limit each time.
  expect(from('10.0.0.1', true, '7.7.7.7:51234')).toBe('7.7.7.7');
  expect(from('10.0.0.1', true, '[2001:db8:1:2::5]:51234')).toBe('2001:db8:1:2::/64');
  expect(from('10.0.0.1', true, '[2001:db8:1:2::5]')).toBe('2001:db8:1:2::/64');
  expect(from('::ffff:10.0.0.1', false)).toBe('10.0.0.1');
  expect(from('2001:db8:1:2:3:4:5:6', false)).toBe('2001:db8:1:2::/64');
  expect(from('2001:db8::5', false)).toBe('2001:db8:0:0::/64');
  expect(from('::1', false)).toBe('0:0:0:0::/64');
});

test('the rate limits need memory for at most 65,536 clients', async () => {
  const limits = new RateLimits({ requests: 1, anonymous: 1_000_000, failures: 1 });
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 200_000; at++) await limits.anonymous(`client ${at}`);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
});

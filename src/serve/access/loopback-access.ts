import { hash, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../base/fault.ts';
import type { Access } from './access.ts';
import type { Identity } from './identity.ts';

/** Access for the one person who started the server on this machine: a secret, sent as a token or kept in a cookie. */
export function loopbackAccess(secret: string, hosts: readonly string[]): Access {
  const you: Omit<Identity, 'via'> = { id: 'you', name: 'you', role: 'admin' };
  return {
    checkHost(host) {
      if (host === undefined || !hosts.includes(host)) throw new Fault('wrong_host', 'This server has another name.');
    },
    async identify(headers) {
      const [, token] = /^Bearer (\S+)$/i.exec(headers.get('authorization') ?? '') ?? [];
      const [, cookie] = /(?:^|;\s*)proctor=([^;]+)/.exec(headers.get('cookie') ?? '') ?? [];
      if (token === undefined && cookie === undefined) return undefined;
      if (!isSame(token ?? cookie ?? '', secret)) throw new Fault('not_signed_in', 'The secret is wrong.');
      return { ...you, via: token === undefined ? 'session' : 'token' };
    },
    async checkRate() {},
    checkOrigin(headers, who) {
      if (who?.via === 'session' && headers.get('sec-fetch-site') !== 'same-origin')
        throw new Fault('wrong_origin', 'Another site sent this request.');
    },
    async beginAct() {
      return { end: async () => {} };
    },
    async noteRefusal() {},
  };
}

function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}

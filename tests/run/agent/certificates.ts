import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../../support/support.ts';

export interface Authority {
  /** Its certificate file, for NODE_EXTRA_CA_CERTS. */
  readonly file: string;
  /** Key and certificate for a server of this name. */
  issue(name: string): { readonly key: string; readonly cert: string };
}

/** A certificate authority for tests. */
export function authority(): Authority {
  const folder = temporaryFolder();
  const at = (name: string): string => path.join(folder, name);
  const openssl = (...args: readonly string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    '2',
    '-subj',
    '/CN=An authority of tests',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
  );
  return {
    file: at('ca.pem'),
    issue(name) {
      writeFileSync(at('names'), `subjectAltName=DNS:${name}\n`);
      openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', at('key'), '-out', at('request'));
      const signing = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2'];
      openssl('x509', '-req', '-in', at('request'), ...signing, '-extfile', at('names'), '-out', at('cert'));
      return { key: readFileSync(at('key'), 'utf8'), cert: readFileSync(at('cert'), 'utf8') };
    },
  };
}

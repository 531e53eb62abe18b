import { Fault } from '../base/fault.ts';

export interface S3Address {
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly region: string;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Reads `s3://bucket/prefix?endpoint=https://…&region=…`. */
export function parseS3Address(text: string): S3Address {
  if (!URL.canParse(text)) throw malformed();
  const { protocol, username, password, port, hostname, pathname, searchParams, hash } = new URL(text);
  const region = searchParams.get('region') ?? 'us-east-1';
  const endpoint = (searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '');
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const isKnown = [...searchParams.keys()].every(name => name === 'region' || name === 'endpoint');
  const isGood =
    protocol === 's3:' &&
    username + password + port + hash === '' &&
    isKnown &&
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(hostname) &&
    /^[\w./-]{0,500}$/.test(prefix) &&
    !prefix.split('/').includes('..') &&
    /^[a-z0-9-]{1,40}$/.test(region) &&
    isEndpoint(endpoint);
  if (!isGood) throw malformed();
  return { endpoint, bucket: hostname, prefix: prefix === '' ? '' : `${prefix}/`, region };
}

/** Without TLS only on this machine, because requests are signed but not encrypted. */
function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return username + password + search + hash === '' && (protocol === 'https:' || (protocol === 'http:' && isHere));
}

/** The credentials in the variables that every tool for S3 uses. */
export function credentialsIn(env: Readonly<Record<string, string | undefined>>): S3Credentials {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw new Fault(
      'store_credentials',
      'An S3 store needs credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    );
  }
  return { accessKeyId, secretAccessKey, ...(token && { sessionToken: token }) };
}

function malformed(): Fault {
  return new Fault(
    'store_address',
    'The address of an S3 store has the form s3://bucket/prefix?endpoint=https://host&region=name. Only an endpoint on this machine may use http. Credentials come from the environment.',
  );
}

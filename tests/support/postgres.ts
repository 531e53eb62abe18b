/**
 * A PostgreSQL server of its own for a test file: in a folder of its own, as an ordinary user, with a port of its own on
 * loopback and with fsync. Each file has one, because some tests crash it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';

const VERSIONS = '/usr/lib/postgresql';
/** Debian's `nobody`. PostgreSQL refuses to run as root. */
const NOBODY = 65_534;

export class TestPostgres {
  readonly #folder: string;
  readonly #port: number;
  #server: ChildProcess | undefined;
  #databases = 0;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  static async start(): Promise<TestPostgres> {
    const folder = mkdtempSync(path.join(tmpdir(), 'proctor-postgres-'));
    if (process.getuid?.() === 0) chownSync(folder, NOBODY, NOBODY);
    execFileSync(
      program('initdb'),
      [
        '--pgdata',
        path.join(folder, 'data'),
        '--auth=trust',
        '--username=proctor',
        '--encoding=UTF8',
        '--no-locale',
        '--no-sync',
      ],
      { ...asUser(), cwd: folder, stdio: 'ignore' },
    );
    const server = new TestPostgres(folder, await freePort());
    await server.up();
    return server;
  }

  /** The address of a new, empty database. */
  async database(): Promise<string> {
    const name = `d${++this.#databases}`;
    await this.sql(`create database ${name}`);
    return this.url(name);
  }

  url(database = 'postgres'): string {
    return `postgres://proctor@127.0.0.1:${this.#port}/${database}`;
  }

  /** The process that all others of the server descend from. */
  get pid(): number {
    return this.#server?.pid as number;
  }

  async sql<Found extends object>(text: string, url = this.url()): Promise<Found[]> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows as Found[];
    } finally {
      await client.end();
    }
  }

  async up(): Promise<void> {
    const settings = {
      fsync: 'on',
      max_connections: '100',
      shared_buffers: '64MB',
      unix_socket_directories: this.#folder,
    };
    this.#server = spawn(
      program('postgres'),
      [
        ...['-D', path.join(this.#folder, 'data'), '-p', String(this.#port), '-h', '127.0.0.1'],
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      { ...asUser(), cwd: this.#folder, stdio: 'ignore' },
    );
    for (let tries = 0; ; tries++) {
      try {
        await this.sql('select 1');
        return;
      } catch (error) {
        if (tries > 300 || this.#server.exitCode !== null) throw error;
        await new Promise(resolve => setTimeout(resolve, 100));
      }
    }
  }

  /** `immediate` crashes it: nothing is written, and every connection breaks. */
  async down(how: 'fast' | 'immediate'): Promise<void> {
    const server = this.#server;
    if (!server || server.exitCode !== null) return;
    const gone = new Promise(resolve => server.once('exit', resolve));
    server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await gone;
  }

  async stop(): Promise<void> {
    await this.down('immediate');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function asUser(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
}

function program(name: string): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined) throw new Error('PostgreSQL is not installed. Run scripts/setup.sh deep.');
  return path.join(VERSIONS, newest, 'bin', name);
}

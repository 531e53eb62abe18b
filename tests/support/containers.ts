/**
 * What a container engine would do with the files in `deploy/`, on a machine without one: each container is a process with
 * mounts of its own, as the user and with the rights that the file says. All share one network namespace, in which every
 * name leads to this machine. Only root can do this.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from './support.ts';
import { Started } from './runs.ts';

export interface Container {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Numbers of the user and the group. */
  readonly user: string;
  /** A folder or a file of this machine, by where the container sees it. */
  readonly mounts: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly isReadOnly: boolean;
  readonly hasTmpfs: boolean;
  readonly hasNoCapabilities: boolean;
}

export class Containers {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'proctor-containers-'));
  readonly #net: ChildProcess;
  readonly #started: Started[] = [];

  private constructor(net: ChildProcess, names: readonly string[]) {
    this.#net = net;
    chmodSync(this.folder, 0o755);
    writeFileSync(path.join(this.folder, 'hosts'), `127.0.0.1 localhost ${names.join(' ')}\n`);
  }

  /** The names are the host names of all containers. */
  static async open(names: readonly string[]): Promise<Containers> {
    const net = spawn('unshare', ['--net', 'python3', '-c', LOOPBACK_UP], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve, reject) => {
      net.once('exit', reject);
      net.stdout.once('data', resolve);
    });
    return new Containers(net, names);
  }

  /** A folder that keeps its files, owned by a user. */
  volume(name: string, user: string): string {
    const folder = path.join(this.folder, 'volumes', name);
    mkdirSync(folder, { recursive: true });
    const [uid = 0, gid = 0] = user.split(':').map(Number);
    chownSync(folder, uid, gid);
    chmodSync(folder, 0o700);
    return folder;
  }

  /** Starts a container. Its process gets the signals that are sent to `Started`. */
  start(container: Container): Started {
    const child = spawn('nsenter', [`--net=/proc/${this.#net.pid}/ns/net`, '--', ...mounted(container, this.folder)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new Started(child);
    this.#started.push(started);
    return started;
  }

  /** Runs a command in a container that was started, as its health check does. */
  async isHealthy({ pid }: Started, container: Container, command: readonly string[]): Promise<boolean> {
    const inside = ['--target', String(pid), '--mount', '--net', '--', ...rights({ ...container, command })];
    const check = spawn('nsenter', inside, { stdio: 'ignore' });
    return new Promise(resolve => check.once('close', code => resolve(code === 0)));
  }

  /** Starts a program of this machine in the same network. */
  beside(command: readonly string[]): Started {
    const child = spawn('nsenter', [`--net=/proc/${this.#net.pid}/ns/net`, '--', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new Started(child);
    this.#started.push(started);
    return started;
  }

  async remove(): Promise<void> {
    const left = this.#started.filter(({ isOver }) => !isOver);
    for (const one of left) one.kill('SIGKILL');
    await Promise.all(left.map(one => one.ended));
    this.#net.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Every step replaces the process, so that signals reach the command. */
function mounted(container: Container, folder: string): string[] {
  const { mounts, isReadOnly, hasTmpfs, workdir } = container;
  const all = Object.entries({ '/etc/hosts': path.join(folder, 'hosts'), [PACKAGE]: ROOT, ...mounts });
  const lines = [
    'set -e',
    'mount -t tmpfs -o mode=755 tmpfs /mnt',
    // The folders of this machine may be in one that the next lines hide.
    ...all.flatMap(([, outside], index) => bind(outside, `/mnt/${index}`, outside)),
    ...PARENTS.map(parent => `mount -t tmpfs -o mode=755 tmpfs ${parent}`),
    `mkdir -p ${workdir} /mnt/bin`,
    ...all.flatMap(([inside, outside], index) => bind(`/mnt/${index}`, inside, outside)),
    `ln -s ${PACKAGE}/dist/proctor.js /mnt/bin/proctor`,
    ...(hasTmpfs ? ['mount -t tmpfs -o mode=1777 tmpfs /tmp'] : []),
    ...(isReadOnly ? ['mount -o remount,bind,ro /', ...PARENTS.map(one => `mount -o remount,ro ${one}`)] : []),
    `cd ${workdir}`,
    'exec "$@"',
  ];
  const script = lines.join('\n');
  return ['unshare', '--mount', '--propagation', 'private', 'bash', '-c', script, 'bash', ...rights(container)];
}

function bind(from: string, to: string, source: string): string[] {
  const make = lstatSync(source).isDirectory() ? `mkdir -p '${to}'` : `mkdir -p '${path.dirname(to)}'; touch '${to}'`;
  return [make, `mount --bind '${from}' '${to}'`];
}

const PACKAGE = '/mnt/proctor';

/** Folders that are empty in a container, so that mount points in them do not appear on this machine. */
const PARENTS = ['/run', '/srv', '/var/lib/postgresql'];

function rights({ command, environment, user, hasNoCapabilities }: Container): string[] {
  const [uid = '0', gid = '0'] = user.split(':');
  const variables = Object.entries({ PATH: SEARCHED, ...environment }).map(([name, value]) => `${name}=${value}`);
  return [
    ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
    ...(hasNoCapabilities ? ['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'] : []),
    ...['env', '--ignore-environment', ...variables, ...command],
  ];
}

const NEWEST = execFileSync('bash', ['-c', 'ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1'], {
  encoding: 'utf8',
}).trim();
const SEARCHED = ['/mnt/bin', path.dirname(process.execPath), NEWEST, '/usr/local/bin', '/usr/bin', '/bin'].join(':');
/** Debian need not have `ip`. */
const LOOPBACK_UP = `
import fcntl, signal, socket, struct
SIOCSIFFLAGS, UP_AND_RUNNING = 0x8914, 0x41
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))
print('up', flush=True)
signal.pause()`;

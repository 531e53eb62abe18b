/**
 * The files in `deploy/`, tried as processes: the commands, variables, mounts, users, rights, health checks, signals and
 * grace periods are those of the files. Debian's PostgreSQL and Caddy take the place of their images.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { type ComposeFile, composeFile, type ComposeService, startOrder, timeOf } from '../support/compose.ts';
import { type Container, Containers } from '../support/containers.ts';
import { pause, type Started, until } from '../support/runs.ts';
import { ROOT } from '../support/support.ts';

const DEPLOY = path.join(ROOT, 'deploy');
const HOST = 'proctor.example';
const USER = '10001:10001';
const CHECKS_MAX = 200;
/** Debian's `nobody`, because PostgreSQL refuses to run as root. */
const NOBODY = '65534:65534';

/** What the image of a service does besides its command. */
const IMAGES: Readonly<Record<string, Pick<Container, 'user' | 'workdir'> & { begin(words: string[]): string[] }>> = {
  proctor: { user: USER, workdir: '/srv/proctor', begin: words => ['proctor', ...words] },
  'caddy:2': { user: '0:0', workdir: '/srv', begin: ([, ...words]) => [caddy(), ...words] },
  'postgres:17': { user: NOBODY, workdir: '/tmp', begin: () => ['bash', '-c', POSTGRES] },
};

function caddy(): string {
  return execFileSync('bash', [path.join(ROOT, 'scripts', 'caddy.sh')], { encoding: 'utf8' }).trim();
}

/** What the official image does at its first start. */
const POSTGRES = `
set -e
data=/var/lib/postgresql/data
if [ ! -e $data/PG_VERSION ]; then
  initdb --pgdata=$data --username="$POSTGRES_USER" --pwfile=<(echo "$POSTGRES_PASSWORD") \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --no-locale --no-sync >/dev/null
  echo 'host all all all scram-sha-256' >> $data/pg_hba.conf
  echo "create database $POSTGRES_DB" | postgres --single -D $data postgres >/dev/null
fi
exec postgres -D $data -c listen_addresses='*' -c unix_socket_directories=/tmp`;

class Composed {
  readonly file: ComposeFile;
  readonly containers: Containers;
  readonly #running: { readonly name: string; readonly started: Started; readonly container: Container }[] = [];

  private constructor(file: ComposeFile, containers: Containers) {
    this.file = file;
    this.containers = containers;
  }

  static async open(variables: Readonly<Record<string, string>>): Promise<Composed> {
    const file = composeFile(path.join(DEPLOY, 'compose.yaml'), variables);
    return new Composed(file, await Containers.open([HOST, ...Object.keys(file.services)]));
  }

  secret(name: string): string {
    return path.join(this.containers.folder, this.file.secrets[name]?.file ?? '');
  }

  /** `docker compose up`: starts every service when those before it are as it wants them. */
  async up(): Promise<void> {
    for (const name of startOrder(this.file)) {
      const service = this.#service(name);
      for (const [before, { condition }] of Object.entries(service.depends_on ?? {})) await this.#is(before, condition);
      const container = this.#container(service);
      for (let replica = 0; replica < (service.deploy?.replicas ?? 1); replica++)
        this.#running.push({ name, started: this.containers.start(container), container });
    }
  }

  /** `docker compose run SERVICE WORDS`. */
  async run(name: string, ...words: string[]) {
    return this.containers.start(this.#container(this.#service(name), words)).ended;
  }

  running(name: string): Started[] {
    return this.#running.filter(one => one.name === name).map(({ started }) => started);
  }

  /** `docker compose stop SERVICE`: how each process ended, and whether it did so within its grace period. */
  async stop(name: string): Promise<{ code: number | null; isInTime: boolean }[]> {
    const { stop_signal: signal = 'SIGTERM', stop_grace_period: grace = '10s' } = this.#service(name);
    const startedMs = performance.now();
    return Promise.all(
      this.running(name).map(async one => {
        one.kill(signal);
        const { code } = await one.ended;
        return { code, isInTime: performance.now() - startedMs < timeOf(grace) };
      }),
    );
  }

  async #is(name: string, condition: string): Promise<void> {
    const { healthcheck } = this.#service(name);
    for (const { started, container } of this.#running.filter(one => one.name === name)) {
      if (condition === 'service_completed_successfully')
        expect(await started.ended, `${name}: ${started.stderr}`).toMatchObject({ code: 0 });
      if (condition !== 'service_healthy') continue;
      const [, ...command] = healthcheck?.test ?? [];
      for (let tries = 0; !(await this.containers.isHealthy(started, container, command)); tries++) {
        expect(started.isOver || tries > CHECKS_MAX, `${name}: ${started.stderr}`).toBe(false);
        await pause(200);
      }
    }
  }

  #service(name: string): ComposeService {
    const service = this.file.services[name];
    if (!service) throw new Error(`There is no service ${name}.`);
    return service;
  }

  #container(service: ComposeService, words = service.command ?? []): Container {
    const image = IMAGES[service.image];
    if (!image) throw new Error(`There is no image ${service.image}.`);
    const mounts = (service.volumes ?? []).map(text => {
      const [from = '', to = ''] = text.split(':');
      return [to, from.startsWith('.') ? path.join(DEPLOY, from) : this.containers.volume(from, image.user)];
    });
    const secrets = (service.secrets ?? []).map(name => [`/run/secrets/${name}`, this.secret(name)]);
    return {
      command: image.begin([...words]),
      environment: { HOME: image.workdir, ...service.environment },
      user: image.user,
      workdir: image.workdir,
      mounts: Object.fromEntries([...mounts, ...secrets]) as Record<string, string>,
      isReadOnly: service.read_only === true,
      hasTmpfs: service.tmpfs?.includes('/tmp') === true,
      hasNoCapabilities: service.cap_drop?.includes('ALL') === true,
    };
  }
}

/** The pods of `worker.yaml`, as kubelet starts them: secrets are links, owned by root and the group of the pod. */
async function startPod(composed: Composed, files: Readonly<Record<string, string>>): Promise<Started> {
  const { containers } = composed;
  const { spec } = (parse(readFileSync(path.join(DEPLOY, 'kubernetes/worker.yaml'), 'utf8')) as Deployment).spec
    .template;
  const { runAsUser, runAsGroup, fsGroup } = spec.securityContext;
  const user = `${runAsUser}:${runAsGroup}`;
  const secrets = path.join(containers.folder, 'pod-secrets');
  mkdirSync(path.join(secrets, '..2026'), { recursive: true });
  symlinkSync('..2026', path.join(secrets, '..data'));
  for (const [name, from] of Object.entries(files)) {
    const file = path.join(secrets, '..2026', name);
    copyFileSync(from, file);
    chownSync(file, 0, fsGroup);
    chmodSync(file, spec.volumes.find(one => one.secret)?.secret?.defaultMode ?? 0o644);
    symlinkSync(path.join('..data', name), path.join(secrets, name));
  }
  const start = ({ command, args = [], env = [], ...own }: PodContainer): Started => {
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value ?? 'proctor-worker-0']));
    const words = args.map(word => word.replaceAll(/\$\((\w+)\)/g, (_, name: string) => variables[name] ?? ''));
    const mounts = own.volumeMounts.map(({ name, mountPath }) => [
      mountPath,
      name === 'secrets' ? secrets : containers.volume(`pod-${name}`, user),
    ]);
    return containers.start({
      command: command ?? ['proctor', ...words],
      environment: { HOME: '/srv/proctor', NODE_EXTRA_CA_CERTS: '/run/tls.crt', ...variables },
      user,
      workdir: '/srv/proctor',
      mounts: { ...Object.fromEntries(mounts), '/run/tls.crt': composed.secret('tls.crt') } as Record<string, string>,
      isReadOnly: own.securityContext.readOnlyRootFilesystem,
      hasTmpfs: false,
      hasNoCapabilities: own.securityContext.capabilities.drop.includes('ALL'),
    });
  };
  for (const one of spec.initContainers) {
    const ended = await start(one).ended;
    expect(ended.code, ended.stderr).toBe(0);
  }
  return start(spec.containers[0]);
}

interface PodContainer {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: {
    readonly readOnlyRootFilesystem: boolean;
    readonly capabilities: { readonly drop: readonly string[] };
  };
}

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly securityContext: Record<'runAsUser' | 'runAsGroup' | 'fsGroup', number>;
        readonly initContainers: readonly PodContainer[];
        readonly containers: readonly [PodContainer];
        readonly volumes: readonly { readonly secret?: { readonly defaultMode: number } }[];
      };
    };
  };
}

test.skipIf(process.getuid?.() !== 0)(
  'compose.yaml and the workers for Kubernetes make suites that verify, and every process ends in its grace period (only root can lay out containers)',
  async () => {
    const composed = await Composed.open({ PROCTOR_DB_PASSWORD: 'a1b2c3d4e5f6', PROCTOR_HOST: HOST });
    const { containers } = composed;
    onTestFinished(() => containers.remove());
    const home = containers.volume('server', USER);
    const ran = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await composed.run('server', ...words);
      expect(code, stdout + stderr).toBe(0);
      return stdout;
    };
    writeSecrets(composed, await ran('token', 'new', '--role', 'worker', '--name', 'workers', '--json'));
    await composed.up();
    expect(composed.running('worker')).toHaveLength(2);

    const agent = containers.beside([process.execPath, path.join(ROOT, 'examples/suite/agent.mjs'), '--port', '9000']);
    await until('the agent listens', () => agent.stdout.includes('http:') || agent.isOver);
    copyFileSync(path.join(ROOT, 'examples/suite/cases.yaml'), path.join(home, 'cases.yaml'));
    const suite = async (id: string, key: string): Promise<void> => {
      const flags = ['--as', 'baseline', '--run-id', id, '--queue', '--store=/srv/proctor/blobs', '--worker-key', key];
      await ran('run', 'suite', 'cases.yaml', '--base-url', 'http://127.0.0.1:9000', ...flags);
      await ran('verify', `.proctor/runs/baseline/${id}`, '--key', key);
    };
    const key = path.join(containers.volume('worker', USER), '.proctor/keys/signing.pub');
    await until('the workers have one key', () => existsSync(key));
    copyFileSync(key, path.join(home, 'workers.pub'));
    chmodSync(path.join(home, 'workers.pub'), 0o444);
    await suite('r1', 'workers.pub');
    expect(workersIn(home, 'r1').every(name => composed.running('worker').some(one => one.stderr.includes(name)))).toBe(
      true,
    );
    expect(await composed.stop('worker')).toEqual([FINE, FINE]);

    await ran('keys', 'new', '--out', 'pod.key');
    const pod = await startPod(composed, {
      token: composed.secret('worker-token'),
      'signing.key': path.join(home, 'pod.key'),
    });
    await suite('r2', 'pod.pub');
    expect(workersIn(home, 'r2')).toEqual(['proctor-worker-0']);
    pod.kill('SIGTERM');
    expect(await pod.ended).toMatchObject({ code: 0 });
    for (const name of ['proxy', 'server', 'postgres']) expect(await composed.stop(name), name).toEqual([FINE]);
  },
);

const FINE = { code: 0, isInTime: true };

/** As docs/scale.md says: a certificate, and a token that the user in the container can read. */
function writeSecrets(composed: Composed, made: string): void {
  mkdirSync(path.dirname(composed.secret('tls.key')));
  const subject = ['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`];
  const files = ['-keyout', composed.secret('tls.key'), '-out', composed.secret('tls.crt')];
  const words = ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '1', ...subject, ...files];
  execFileSync('openssl', words, { stdio: 'ignore' });
  writeFileSync(composed.secret('worker-token'), (JSON.parse(made) as { token: string }).token);
  for (const name of ['tls.key', 'tls.crt', 'worker-token']) chmodSync(composed.secret(name), 0o444);
}

/** The workers that signed the outcomes of a run. */
function workersIn(home: string, id: string): string[] {
  const file = path.join(home, '.proctor/runs/baseline', id, 'assets/outcomes.ndjson');
  const names = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map(line => {
      const { payload } = JSON.parse(line) as { payload: string };
      const statement = JSON.parse(Buffer.from(payload, 'base64').toString()) as {
        predicate: { worker: { name: string } };
      };
      return statement.predicate.worker.name;
    });
  return [...new Set(names)];
}

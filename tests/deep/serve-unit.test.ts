import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Started, until } from '../support/runs.ts';
import { freePort } from '../support/free-port.ts';
import { proctor, ROOT } from '../support/support.ts';

const UNIT = path.join(ROOT, 'deploy', 'proctor.service');
const text = readFileSync(UNIT, 'utf8');

/** The values of the section [Service], by directive. */
const directives = new Map(
  (/^\[Service\]\n([^]*?)^\[/m.exec(text)?.[1] ?? '')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.split(/=(.*)/s) as [string, string]),
);
const valueOf = (name: string): string => directives.get(name) ?? '';
const [program = '', ...args] = valueOf('ExecStart').split(' ');

test('systemd accepts the unit', context => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  context.skip(!hasSystemd, 'systemd-analyze is not installed, so systemd has not read the unit');
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-unit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // systemd also checks that the program is there.
  const installed = path.join(folder, 'proctor');
  writeFileSync(installed, '#!/bin/sh\n');
  chmodSync(installed, 0o755);
  const read = (name: string, unit: string) => {
    const file = path.join(folder, name);
    writeFileSync(file, unit.replace(program, installed));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    return { status, stderr };
  };
  expect(read('proctor.service', text)).toEqual({ status: 0, stderr: '' });
  expect(read('wrong.service', text.replace('ProtectSystem=strict', 'ProtectSystems=strict')).stderr).toMatch(
    /'ProtectSystems'/,
  );
});

test('the options of the unit are options of the command', () => {
  const { stdout } = proctor(['serve', '--help']);
  expect(args[0]).toBe('serve');
  const flags = args.filter(word => word.startsWith('--'));
  expect(flags).toEqual(['--listen', '--tls-behind-proxy', '--host']);
  for (const flag of flags) expect(stdout).toMatch(new RegExp(`^ +${flag}\\b`, 'm'));
});

test('the unit sets nothing that the server or its sandbox cannot live with', () => {
  // Each of these is in the world of the next test, or is about starting and stopping.
  const known = new Set([
    ...['User', 'Group', 'WorkingDirectory', 'Environment', 'EnvironmentFile', 'ExecStart', 'UMask', 'NoNewPrivileges'],
    ...['ProtectSystem', 'ReadWritePaths', 'ProtectHome', 'PrivateTmp'],
    ...['KillMode', 'TimeoutStopSec', 'Restart', 'RestartSec', 'Delegate'],
  ]);
  expect([...directives.keys()].filter(name => !known.has(name))).toEqual([]);
  expect(valueOf('Delegate')).toBe('yes');
  const { stdout } = proctor(['serve', '--help']);
  const drainS = Number(/--drain[^]*?default: (\d+)s/.exec(stdout)?.[1]);
  expect(drainS).toBeLessThan(Number(valueOf('TimeoutStopSec')));
});

/** The system as the unit's directives leave it: an ordinary user, one writable folder, no homes and a private /tmp. */
class UnitWorld {
  readonly folder = mkdtempSync('/srv/proctor-');
  /** Proctor and Node, where ProtectHome does not hide them. */
  readonly #app = mkdtempSync('/srv/proctor-app-');

  constructor() {
    chmodSync(this.folder, 0o700);
    chmodSync(this.#app, 0o755);
    execFileSync('chown', [`${USER}:${USER}`, this.folder]);
    mkdirSync(path.join(this.#app, 'root'));
    writeFileSync(path.join(this.#app, 'node'), '');
  }

  start(words: readonly string[]): ChildProcess {
    const node = path.join(this.#app, 'node');
    const script = [
      'mount --make-rprivate /',
      `mount --bind ${ROOT} ${this.#app}/root`,
      `mount --bind ${process.execPath} ${node}`,
      `mount --bind ${this.folder} ${this.folder}`,
      'mount -o remount,bind,ro /',
      ...['/tmp', '/var/tmp'].map(at => `mount -t tmpfs -o mode=1777 tmpfs ${at}`),
      ...['/home', '/root', '/run/user'].map(at => `[ ! -d ${at} ] || mount -t tmpfs -o ro,mode=000 tmpfs ${at}`),
      `cd ${this.folder}`,
      `umask ${valueOf('UMask')}`,
      `exec setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs \\
        env -i PATH=/usr/local/bin:/usr/bin:/bin '${this.#inFolder(valueOf('Environment'))}' "$@"`,
    ].join('\n');
    return spawn('unshare', ['--mount', 'sh', '-ec', script, 'sh', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  proctor(words: readonly string[]): Started {
    return new Started(
      this.start([path.join(this.#app, 'node'), path.join(this.#app, 'root/dist/proctor.js'), ...words]),
    );
  }

  #inFolder(value: string): string {
    return value.replace(valueOf('ReadWritePaths'), this.folder);
  }

  remove(): void {
    for (const folder of [this.folder, this.#app]) rmSync(folder, { recursive: true, force: true });
  }
}

const USER = 65_534;

test('the server runs published scripts in its sandbox with only the folder that the unit leaves writable', async context => {
  context.skip(process.getuid?.() !== 0, 'only root can make the file system that the unit describes');
  const world = new UnitWorld();
  onTestFinished(() => world.remove());
  const { code, stdout } = await new Started(
    world.start(['sh', '-c', 'for at in /usr /etc /srv /root; do touch $at/x && echo $at; done; ls -A /tmp']),
  ).ended;
  expect([code, stdout]).toEqual([0, '']);

  const created = await world.proctor(['token', 'new', '--role', 'admin', '--name', 'you', '--json']).ended;
  const { token } = JSON.parse(created.stdout) as { token: string };
  const port = await freePort();
  const server = world.proctor([...args.map(word => word.replace(/:7700$/, `:${port}`)), '--json']);
  await until('the server listens', () => server.isOver || server.stdout.includes('}'));
  expect(server.stdout).toContain('"address"');
  const proxied = {
    authorization: `Bearer ${token}`,
    'x-forwarded-proto': 'https',
    'x-forwarded-host': args[args.indexOf('--host') + 1] ?? '',
    'x-forwarded-for': '192.0.2.1',
  };
  const ask = (at: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${at}`, { ...init, headers: { ...proxied } });
  const form = new FormData();
  for (const name of ['script.yaml', 'clean.py', 'summary.html']) {
    const file = path.join(ROOT, 'examples/publish/clean-orders', name);
    form.append('file', new File([readFileSync(file)], name));
  }
  expect((await ask('/v1/scripts', { method: 'POST', body: form })).status).toBe(200);
  const inputs = new FormData();
  inputs.set('orders', new File([readFileSync(path.join(ROOT, 'examples/publish/orders.csv'))], 'orders.csv'));
  const ordered = await ask('/v1/scripts/clean-orders/runs', { method: 'POST', body: inputs });
  const { run_id: id } = (await ordered.json()) as { run_id: string };
  await (await ask(`/v1/script-runs/${id}/events`)).text();
  expect(await (await ask(`/v1/script-runs/${id}`)).json()).toMatchObject({ state: 'succeeded', files: [{}] });

  server.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
  const verified = await world.proctor(['verify', id]).ended;
  expect(verified.code, verified.stdout).toBe(0);
  expect(existsSync(path.join(world.folder, '.local/state/proctor'))).toBe(true);
});

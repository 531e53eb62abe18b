import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runScript } from '../../src/verbs/run-script.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { orderingServer, type OrderingServer } from '../serve/orders/ordering-server.ts';
import { temporaryFolder } from '../support/support.ts';

const CLIENTS = 20;
const patience = { requestMs: 1_500, headersMs: 1_000, keepAliveMs: 500, stallMs: 1_000, lookMs: 100 };

/** Connections of clients that send these bytes and then do as they like. */
async function connected({ origin }: OrderingServer, bytes: string, count = CLIENTS): Promise<Socket[]> {
  const { port } = new URL(origin);
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(port), '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined);
      await new Promise(resolve => socket.once('connect', resolve));
      socket.write(bytes);
      return socket;
    }),
  );
}

const head = ({ origin, token }: OrderingServer, line: string, ...more: string[]): string =>
  [line, `host: ${new URL(origin).host}`, `authorization: Bearer ${token}`, ...more].join('\r\n');

const descriptors = (): number => readdirSync('/proc/self/fd').length;

/** Waits until the server has closed every connection. A client that reads nothing notices when it writes. */
async function untilClosed(sockets: readonly Socket[]): Promise<void> {
  const isOpen = (socket: Socket): boolean => {
    if (!socket.destroyed) socket.resume();
    return !socket.destroyed && !socket.readableEnded;
  };
  await expect.poll(() => sockets.filter(isOpen).length, { timeout: 30_000 }).toBe(0);
}

describe('a server', () => {
  test('closes connections whose headers or bodies never end, and keeps none of their uploads', async () => {
    const cwd = temporaryFolder();
    const server = await orderingServer(cwd, { patience });
    mkdirSync(path.join(cwd, 'tool'));
    const script = {
      schema_version: 'published-script.v1',
      name: 'echo',
      version: '1.0.0',
      title: 'E',
      script: 'run.sh',
    };
    writeFileSync(path.join(cwd, 'tool/script.yaml'), JSON.stringify(script));
    writeFileSync(path.join(cwd, 'tool/run.sh'), 'exit 0\n');
    await publishScript('tool', { cwd });
    expect((await server.ask('/v1/runs')).status).toBe(200);
    const before = descriptors();
    const headless = await connected(server, head(server, 'GET /v1/runs HTTP/1.1'));
    const form = head(
      server,
      'POST /v1/scripts/echo/runs HTTP/1.1',
      'content-type: multipart/form-data; boundary=b',
      'content-length: 1000000',
      '',
      '--b\r\ncontent-disposition: form-data; name="list"; filename="x"\r\n\r\nhalf of it',
    );
    const bodiless = await connected(server, form);
    const vanishing = await connected(server, form);
    const uploads = path.join(cwd, '.proctor/server/uploads');
    await expect.poll(() => readdirSync(uploads).length, { timeout: 30_000 }).toBeGreaterThan(0);
    for (const socket of vanishing) socket.destroy();
    // Others are answered meanwhile.
    expect((await server.ask('/v1/runs')).status).toBe(200);
    const drip = setInterval(() => {
      for (const socket of headless) if (socket.writable) socket.write('\r\nx: y');
      for (const socket of bodiless) if (socket.writable) socket.write('.');
    }, 100);
    onTestFinished(() => clearInterval(drip));
    await untilClosed([...headless, ...bodiless]);
    clearInterval(drip);
    await expect.poll(() => readdirSync(uploads), { timeout: 30_000 }).toEqual([]);
    await expect.poll(descriptors, { timeout: 30_000 }).toBeLessThanOrEqual(before);
    expect(server.log.join('')).not.toContain('"code":"bug"');
  });

  test('closes connections of clients that stop reading a pack, and holds neither files nor memory for them', async () => {
    const cwd = temporaryFolder();
    // More than the buffers of a connection take.
    writeFileSync(path.join(cwd, 'large.bin'), randomBytes(24 * 1024 ** 2));
    writeFileSync(path.join(cwd, 'run.sh'), 'mkdir -p output; cp input/large.bin output/\n');
    const { runId } = await runScript({ cwd, script: path.join(cwd, 'run.sh'), inputs: [path.join(cwd, 'large.bin')] });
    const server = await orderingServer(cwd, { patience });
    const packs = path.join(cwd, '.proctor/server/packs');
    // The thread that packs starts on first use, and stays.
    await (await server.ask(`/v1/runs/${runId}/pack`)).body?.cancel();
    await expect.poll(() => openPacks(packs)).toBe(0);
    const before = descriptors();
    const sockets = await connected(server, `${head(server, `GET /v1/runs/${runId}/pack HTTP/1.1`)}\r\n\r\n`, 4);
    // They take what fits into their buffers, and no more.
    await expect.poll(() => sockets.every(({ bytesRead }) => bytesRead > 0), { timeout: 60_000 }).toBe(true);
    await expect.poll(() => openPacks(packs), { timeout: 60_000 }).toBe(0);
    await expect.poll(() => readdirSync(packs)).toEqual([]);
    for (const socket of sockets) socket.destroy();
    await expect.poll(descriptors, { timeout: 30_000 }).toBeLessThanOrEqual(before);
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(64 * 1024 ** 2);
    const whole = await server.ask(`/v1/runs/${runId}/pack`);
    expect((await whole.arrayBuffer()).byteLength).toBe(Number(whole.headers.get('content-length')));
    expect(server.log.join('')).not.toContain('"code":"bug"');
  });

  test('holds nothing for clients of a stream of events that vanish', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'run.sh'), 'exit 0\n');
    const { runId } = await runScript({ cwd, script: path.join(cwd, 'run.sh') });
    const server = await orderingServer(cwd, { patience });
    expect((await server.ask('/v1/runs')).status).toBe(200);
    const before = descriptors();
    const ask = `${head(server, `GET /v1/runs/${runId}/events HTTP/1.1`)}\r\n\r\n`;
    const sockets = await connected(server, ask);
    await Promise.all(sockets.map(socket => new Promise(resolve => socket.once('data', resolve))));
    expect(descriptors()).toBeGreaterThanOrEqual(before + CLIENTS);
    for (const socket of sockets) socket.destroy();
    await expect.poll(descriptors, { timeout: 30_000 }).toBeLessThanOrEqual(before);
  });
});

/** How many packs this process holds open. Their names are gone. */
function openPacks(folder: string): number {
  return openFiles().filter(file => file.startsWith(folder)).length;
}

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

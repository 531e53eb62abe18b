import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { startAgent } from './shots-world.ts';

const root = process.cwd();

interface LivePicture {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly scale: number;
}

/** Takes a picture of the viewer while a suite runs: seven cases have ended, and the agent is held at the eighth. */
export async function shootLive(browser: Browser, folder: string, picture: LivePicture): Promise<void> {
  const { url, child: agent } = await startAgent(['--new']);
  const holding = await heldAfter(7, url);
  const server = spawnProctor(folder, ['serve', '--listen', '127.0.0.1:0', '--json']);
  const cases = path.join(root, 'examples', 'suite', 'cases.yaml');
  try {
    const { address } = JSON.parse(await server.firstLine) as { address: string };
    const flags = ['--base-url', holding.url, '--as', 'new', '--concurrency', '1', '--retries', '0'];
    const suite = spawnProctor(folder, ['run', 'suite', cases, ...flags]);
    await holding.isHeld;
    const page = await browser.newPage({
      viewport: { width: picture.width, height: picture.height },
      deviceScaleFactor: picture.scale,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
    });
    await page.goto(address.replace('/#', '/runs?state=running#'));
    await page.locator('main [data-row]').first().click();
    await page.getByText('7 of 10').first().waitFor();
    await page.waitForTimeout(1_500);
    await page.screenshot({ path: path.join(root, picture.file) });
    await page.close();
    holding.release();
    await suite.ended;
  } finally {
    server.child.kill('SIGINT');
    agent.kill();
    holding.close();
  }
}

/** A proxy that forwards the first `count` requests, and holds the others until `release`. */
async function heldAfter(count: number, url: string) {
  let asked = 0;
  const signs = new EventEmitter();
  const released = once(signs, 'release');
  const isHeld = once(signs, 'hold');
  const release = (): void => void signs.emit('release');
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', async () => {
      if (++asked > count) {
        signs.emit('hold');
        await released;
      }
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}${request.url}`, { method: 'POST', headers, body: Buffer.concat(pieces) });
      response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()));
    });
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    release();
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, isHeld, release, close };
}

function spawnProctor(cwd: string, args: readonly string[]) {
  const child = spawn(process.execPath, [path.join(root, 'dist', 'proctor.js'), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  process.on('exit', () => child.kill());
  const firstLine = new Promise<string>(resolve => child.stdout.setEncoding('utf8').once('data', resolve));
  child.stdout.resume();
  return { child, firstLine, ended: new Promise<void>(resolve => child.once('exit', () => resolve())) };
}

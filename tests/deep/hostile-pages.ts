import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { overflow } from '../reports/browser.ts';
import type { ServedProject } from '../support/serve.ts';

/** A server with hostile content, a browser that shows it, and a server that must not get a request. */
export interface HostileWorld {
  readonly browser: Browser;
  readonly project: ServedProject;
  readonly trap: Counting;
}

/** Counts the requests that reach it. */
export class Counting {
  readonly asked: string[] = [];
  readonly #server: Server;
  readonly origin: string;

  private constructor(server: Server) {
    this.#server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(page?: string): Promise<Counting> {
    const server = createServer();
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const counting = new Counting(server);
    server.on('request', (asked, answer) => {
      counting.asked.push(`${asked.method} ${asked.url}`);
      answer.setHeader('content-type', 'text/html; charset=utf-8');
      answer.end(page ?? '');
    });
    return counting;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** HTML, ANSI, direction marks, invisible characters, and a long line. */
export const TEXT =
  '<img src=x onerror=top.hit=1><script>top.hit=1</script>\u202egnp.exe\u200b\u0007\u001b[31mred\u001b[0m';
export interface Watched {
  readonly page: Page;
  /** Requests, popups, downloads, dialogs and navigations that hostile content caused. */
  readonly caused: string[];
}

/** A browser of the person who started the server. */
export async function signedIn({ browser, project }: HostileWorld): Promise<BrowserContext> {
  const signed = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await signed.newPage();
  await page.goto(`${project.origin}/runs#secret=${project.secret}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.close();
  return signed;
}

/** A page that notes what its content causes. */
export async function watched(world: HostileWorld): Promise<Watched> {
  const { project } = world;
  const page = await (await signedIn(world)).newPage();
  const caused: string[] = [];
  page.on('request', asked => {
    const { origin, pathname } = new URL(asked.url());
    const isOwn =
      origin === project.origin &&
      /^\/(?:v1|assets|runs|scripts|script-runs|logs|history|comparisons|verify|queue|settings)\b/.test(pathname);
    if (!isOwn && !asked.url().startsWith('data:') && asked.url() !== 'about:srcdoc') caused.push(asked.url());
  });
  // The browser also names requests that the policy of the page stopped before they were sent.
  page.on('requestfailed', stopped => {
    const index = stopped.failure()?.errorText === 'csp' ? caused.indexOf(stopped.url()) : -1;
    if (index >= 0) caused.splice(index, 1);
  });
  page.on('popup', popup => caused.push(`popup ${popup.url()}`));
  page.on('download', download => caused.push(`download ${download.url()}`));
  page.on('dialog', dialog => (caused.push(dialog.message()), void dialog.dismiss()));
  return { page, caused };
}

/** Opens a view, and waits until it has a heading. */
export async function showed(world: HostileWorld, view: string, seen?: Watched): Promise<Watched> {
  const { page, caused } = seen ?? (await watched(world));
  await page.goto(`${world.project.origin}${view}`);
  await page.locator('main h1').first().waitFor();
  return { page, caused };
}

export const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069]/;

/** Hostile text did nothing, stayed where it is, and hides no character. */
export async function expectCalm({ trap }: HostileWorld, { page, caused }: Watched, at: string): Promise<void> {
  // What did not happen by now was not caused by loading the page.
  await page.waitForTimeout(250);
  expect({ at, caused, asked: trap.asked }).toEqual({ at, caused: [], asked: [] });
  expect(await page.evaluate('window.hit')).toBeUndefined();
  expect(new URL(page.url()).pathname).toBe(at);
  expect(await page.locator('main img[src="x"], main script, main svg[onload]').count()).toBe(0);
  expect(await page.locator('a[href^="javascript:" i], a[href^="data:" i]').count()).toBe(0);
  expect([at, await overflow(page)]).toEqual([at, expect.toSatisfy((wider: number) => wider <= 0)]);
  expect(CONTROLS.test((await page.locator('body').innerText()) + (await page.title()))).toBe(false);
}

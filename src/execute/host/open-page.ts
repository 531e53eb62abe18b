import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';

/** Opens a file in the user's browser. Returns false if this session has no browser or it cannot start. */
export async function openPage(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const program = browserOf(environment);
  if (program === undefined) return false;
  const child = spawn(program, [pathToFileURL(file).href], { stdio: 'ignore', detached: true, env: environment });
  return new Promise(resolve => {
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

function browserOf({ BROWSER, DISPLAY, WAYLAND_DISPLAY }: Readonly<Record<string, string | undefined>>) {
  if (BROWSER) return BROWSER;
  if (process.platform === 'darwin') return 'open';
  return DISPLAY || WAYLAND_DISPLAY ? 'xdg-open' : undefined;
}

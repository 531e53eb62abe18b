// npm runs this after `npm ci`, before `npm pack`, and when a project installs Proctor from git.
// It also runs before every `npx proctor` in a checkout. That command must not wait for a build.
import { existsSync } from 'node:fs';
import path from 'node:path';

const built = path.join(path.dirname(import.meta.dirname), 'dist', 'proctor.js');
if (process.env.npm_command !== 'exec') await import('./build.mjs');
else if (!existsSync(built)) {
  console.error('Proctor is not built in this checkout. Run `npm run build`, then try again.');
  process.exitCode = 1;
}

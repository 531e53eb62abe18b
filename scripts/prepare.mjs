// npm runs this after `npm ci`, before `npm pack`, and when a project installs Proctor from git.
// It also runs before every `npx proctor` in a checkout. That command must not wait for a build.
import { existsSync } from 'node:fs';
import path from 'node:path';

const checkout = path.dirname(import.meta.dirname);
const has = place => existsSync(path.join(checkout, place));

if (process.env.npm_command === 'exec') {
  if (!has('dist/proctor.js')) fail('Proctor is not built in this checkout. Run `npm run build`, then try again.');
} else if (has('node_modules/esbuild')) await import('./build.mjs');
// For `npm install --global git+…`, npm does not install what a package needs to build itself.
else
  fail(
    'npm did not install what the build needs. Clone the repository, and run `npm ci`, `npm pack` and `npm install --global` there.',
  );

function fail(sentence) {
  console.error(sentence);
  process.exitCode = 1;
}

/**
 * A stand-in for the release after this one: this source code with one more version of requests and of the tables.
 * For it, the built package is the release before.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ROOT } from './support.ts';

export interface NextRelease {
  /** Its command line. */
  readonly program: string;
  remove(): void;
}

export async function nextRelease(): Promise<NextRelease> {
  // Inside the checkout, so that it finds the packages.
  mkdirSync(path.join(ROOT, 'build'), { recursive: true });
  const folder = mkdtempSync(path.join(ROOT, 'build', 'next-'));
  cpSync(path.join(ROOT, 'dist'), folder, {
    recursive: true,
    filter: file => path.relative(path.join(ROOT, 'dist'), file) !== 'types',
  });
  const program = path.join(folder, 'proctor.js');
  await build({
    entryPoints: [path.join(ROOT, 'src', 'cli', 'proctor.ts')],
    outfile: program,
    allowOverwrite: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    define: { PROCTOR_VERSION: '"99.0.0"' },
    logLevel: 'error',
    plugins: [changed],
  });
  return { program, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const CHANGES: Readonly<Record<string, readonly [before: string, after: string]>> = {
  'attempt-question.ts': ['...number[]] = [1];', '...number[]] = [1, 2];'],
  'migrations.ts': ['\n];', '\n  `alter table proctor.worker add column next text`,\n];'],
};

const changed: Plugin = {
  name: 'changed',
  setup(next) {
    next.onLoad({ filter: /\/(?:attempt-question|migrations)\.ts$/ }, ({ path: file }) => {
      const text = readFileSync(file, 'utf8');
      const [before, after] = CHANGES[path.basename(file)] ?? ['', ''];
      if (text.split(before).length !== 2) throw new Error(`${path.basename(file)} has changed: adapt this test.`);
      return { contents: text.replace(before, after), loader: 'ts' };
    });
  },
};

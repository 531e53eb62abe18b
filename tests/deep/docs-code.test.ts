import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/support.ts';

/** Names that the examples take from the reader's own code. */
const GIVEN = 'declare const record: unknown, publicKey: any, baseline: any[], candidate: any[];\n';

test('every example in the README and the docs that imports proctor passes strict TypeScript', () => {
  const project = temporaryFolder();
  mkdirSync(path.join(project, 'node_modules'));
  symlinkSync(ROOT, path.join(project, 'node_modules', 'proctor'));
  writeFileSync(path.join(project, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(project, 'given.d.ts'), GIVEN);
  const pages = ['README.md', ...readdirSync(path.join(ROOT, 'docs')).map(name => `docs/${name}`)];
  const examples = pages
    .filter(page => page.endsWith('.md'))
    .flatMap(page => {
      const text = readFileSync(path.join(ROOT, page), 'utf8');
      const blocks = [...text.matchAll(/^```(?:js|ts)\n([^]*?)^```$/gm)].map(([, code]) => code as string);
      return blocks.filter(code => /from 'proctor/.test(code)).map((code, index) => ({ page, index, code }));
    });
  expect(examples.length).toBeGreaterThan(5);
  const files = examples.map(({ page, index, code }) => {
    const file = `${page.replace(/\W/g, '-')}-${index}.ts`;
    writeFileSync(path.join(project, file), code);
    return file;
  });
  const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const flags = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--skipLibCheck', '--module', 'nodenext'];
  const types = ['--target', 'es2024', '--types', 'node', '--typeRoots', path.join(ROOT, 'node_modules', '@types')];
  let told = '';
  try {
    execFileSync(process.execPath, [tsc, ...flags, ...types, 'given.d.ts', ...files], {
      cwd: project,
      encoding: 'utf8',
    });
  } catch (error) {
    told = String((error as { stdout?: unknown }).stdout);
  }
  expect(told).toBe('');
});

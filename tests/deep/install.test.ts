import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadContracts } from '../../src/contracts/catalogue.ts';
import { ROOT } from '../support/support.ts';
import { packInto } from '../support/tarball.ts';

/** Another project that installed the packed tarball as the README says. */
const project = mkdtempSync(path.join(tmpdir(), 'proctor-install-'));
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

let tarball: string;
beforeAll(() => {
  tarball = packInto(project);
  writeFileSync(path.join(project, 'package.json'), '{"name":"other","private":true,"type":"module"}');
  run('npm', 'install', '--no-audit', '--no-fund', tarball);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const example = `JSON.parse('${JSON.stringify({ a: 1 })}')`;

test('npx runs the existing build of the checkout, and does not change it', () => {
  const file = path.join(ROOT, 'dist', 'proctor.js');
  const before = statSync(file).ino;
  const said = execFileSync('npx', ['proctor', '--version'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(said).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(statSync(file).ino).toBe(before);
});

test('the packed tarball, installed globally without install scripts, has a command that works', () => {
  const prefix = path.join(project, 'global');
  run('npm', 'install', '--global', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', tarball);
  const proctor = path.join(prefix, 'bin', 'proctor');
  expect(run(proctor, '--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(run(proctor, 'schema', 'project')).toContain('project.v1');
});

describe('the packed tarball, in another project', () => {
  test('has a command that works', () => {
    expect(run('npx', '--no-install', 'proctor', '--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(run('npx', '--no-install', 'proctor', 'explain', 'RN7')).toContain('Write Roots Valid');
    expect(run('npx', '--no-install', 'proctor', 'schema')).toContain('runner');
  });

  test('has proctor/verify, which judges values and files', () => {
    const script = `
      import { verify, verifyRunner } from 'proctor/verify';
      const { valid, violations } = verifyRunner(${example});
      let outcome;
      for await (const verdict of verify(['package.json'])) outcome = verdict.outcome;
      console.log(JSON.stringify({ valid, first: violations[0].rule_id, outcome }));`.replace(
      "import { registerHooks } from 'node:module';",
      '',
    );
    writeFileSync(path.join(project, 'use.mjs'), script);
    expect(JSON.parse(run('node', 'use.mjs'))).toEqual({ valid: false, first: 'RN1', outcome: 'refused' });
  });

  test('has libraries that need no dependency at run time', async () => {
    const bare = path.join(project, 'bare');
    mkdirSync(path.join(bare, 'node_modules'), { recursive: true });
    execFileSync('cp', [
      '-r',
      path.join(project, 'node_modules', 'proctor'),
      path.join(bare, 'node_modules', 'proctor'),
    ]);
    writeFileSync(
      path.join(bare, 'use.mjs'),
      `
      import { loadContracts, runner } from 'proctor/contracts';
      import { verifyRunner } from 'proctor/verify';
      import { decideTrials } from 'proctor/gate';
      const trials = [{ case: 'a', trial: 0, pass: true }];
      if (decideTrials(trials, trials).verdict !== 'no_regression') process.exit(1);
      console.log((await loadContracts()).length, verifyRunner(runner.example).runner_hash);`,
    );
    expect(execFileSync('node', ['use.mjs'], { cwd: bare, encoding: 'utf8' })).toBe(
      `${(await loadContracts()).length} sha256:830861b74667a7c5b9967012e89ada945b3e53c0eb61ea74fbdfc6497edb22bc\n`,
    );
  });

  test('has a schema for editors at the path that a project file names', () => {
    const script = `
      import { readFileSync } from 'node:fs';
      const { title } = JSON.parse(readFileSync('./node_modules/proctor/schemas/project.json', 'utf8'));
      const { default: cases } = await import('proctor/schemas/cases.json', { with: { type: 'json' } });
      console.log(title, cases.title);`;
    writeFileSync(path.join(project, 'schemas.mjs'), script);
    expect(
      execFileSync('node', ['schemas.mjs'], { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    ).toBe('Project Cases of a suite, as people write them\n');
  });

  test('has types that a strict TypeScript project accepts', () => {
    writeFileSync(
      path.join(project, 'use.ts'),
      `
      import { type Runner, runner, loadContracts } from 'proctor/contracts';
      import { type Verdict, verify, verifyRunner } from 'proctor/verify';
      const record = runner.example as Runner;
      const hash: string | undefined = verifyRunner(record).runner_hash;
      const verdicts: Verdict[] = [];
      for await (const verdict of verify(['.'], { strict: true })) verdicts.push(verdict);
      // @ts-expect-error there is no such backend
      record.sandbox.backend = 'jail';
      console.log(hash, verdicts.length, (await loadContracts()).length);`,
    );
    const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    expect(
      run('node', tsc, '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', '', 'use.ts'),
    ).toBe('');
  });

  test('contains no source, no test and no path of the build machine', () => {
    // The coding tasks among the examples have source folders of their own.
    const files = run('find', 'node_modules/proctor', '-type', 'f', '-not', '-path', '*/examples/coding/tasks/*');
    expect(files).not.toMatch(/\/(?:src|tests|bench|scripts)\//);
    expect(() => run('grep', '-rlF', ROOT, 'node_modules/proctor')).toThrow();
  });
});

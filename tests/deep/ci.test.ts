import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { FakeGitHub } from '../action/github.ts';
import { runAction } from '../action/runner.ts';
import { proctor, ROOT } from '../support/support.ts';
import { PROJECT, projectFolder, WORSE } from '../verbs/test/world.ts';

/** A repository with an accepted baseline, whose agent then gets worse. Proctor is one of its packages. */
function worseProject(): string {
  const dir = projectFolder(PROJECT.replace('target: desk', 'target: desk\n    repeat: 6'));
  spawnSync('git', ['init', '-q'], { cwd: dir });
  mkdirSync(path.join(dir, 'node_modules'));
  symlinkSync(ROOT, path.join(dir, 'node_modules', 'proctor'));
  expect(proctor(['test', '--accept'], { cwd: dir })).toMatchObject({ code: 0 });
  writeFileSync(path.join(dir, 'agent.mjs'), WORSE);
  return dir;
}

const PAYLOAD = { pull_request: { number: 7, head: { sha: 'f'.repeat(40) } } };
const lineIn = (dir: string): number =>
  readFileSync(path.join(dir, 'proctor', 'cases.yaml'), 'utf8')
    .split('\n')
    .indexOf('  - id: returns') + 1;

test('the GitHub action reports a regression at the line of its case, and comments once', async () => {
  const github = await FakeGitHub.start();
  const workspace = worseProject();
  const options = { workspace, event: 'pull_request', payload: PAYLOAD, apiUrl: github.url };
  const worse = await runAction(options);
  const printed = worse.steps.find(({ name }) => name === 'Test')?.printed ?? '';
  expect(worse.outputs['exit-code'], printed).toBe('1');
  expect(printed).toContain(
    `::error file=proctor/cases.yaml,line=${lineIn(workspace)},title=returns%3A regressed (6/6 → 0/6)::must_include: `,
  );
  expect(worse.summary).toMatch(/^## ❌ .*\n[\s\S]*`returns`/);
  const report = worse.outputs['report'] ?? '';
  for (const name of ['report.html', 'report.md', 'junit.xml'])
    expect(existsSync(path.join(report, 'desk', name))).toBe(true);
  expect(github.comments[0]?.body).toContain('`returns`');
  expect(github.comments[0]?.body).toContain('exit code 1.');

  writeFileSync(path.join(workspace, 'agent.mjs'), WORSE.replace('14 days', '30 days'));
  const mended = await runAction({ ...options, runId: '101' });
  expect(mended).toMatchObject({ isFailed: false, outputs: { 'exit-code': '0' } });
  expect(github.comments.map(({ body }) => /## (.*)/.exec(body)?.[1])).toEqual(['✅ No regression']);
}, 240_000);

test('the GitHub action reports a suite that cannot run, and a missing project file', async () => {
  const workspace = projectFolder(PROJECT.replace('cases: proctor/cases.yaml', 'cases: proctor/none.yaml'));
  const broken = await runAction({ workspace });
  expect(broken.outputs['exit-code']).toBe('2');
  expect(broken.summary).toContain('The case file none.yaml does not exist.');
  const step = broken.steps.find(({ name }) => name === 'Test');
  expect(step?.printed).toContain(
    '::error title=Proctor::The suite desk could not run: The case file none.yaml does not exist.',
  );
  const none = await runAction({ workspace, inputs: { config: 'none.yaml' } });
  expect(none.outputs['exit-code']).toBe('2');
  expect(none.summary).toMatch(/^## ❌ Could not run\n\n` .*none\.yaml/);
}, 240_000);

test('the scripts of the GitLab job write the files that it keeps, even after a regression', () => {
  const { proctor: job } = parse(readFileSync(path.join(ROOT, 'examples', 'ci', 'gitlab.yml'), 'utf8')) as {
    proctor: {
      script: string[];
      after_script: string[];
      artifacts: { paths: string[]; reports: Record<string, string> };
    };
  };
  const dir = worseProject();
  const bin = path.join(dir, 'bin');
  mkdirSync(bin);
  // This project is already built, and the test uses no registry.
  const npx = `shift 2\nexec '${process.execPath}' '${path.join(ROOT, 'dist', 'proctor.js')}' "$@"\n`;
  for (const [name, text] of Object.entries({
    npm: 'test "$1" = ci\n',
    npx: `test "$1 $2" = "--no-install proctor"\n${npx}`,
  })) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\nset -e\n${text}`);
    chmodSync(path.join(bin, name), 0o755);
  }
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
  const runs = (lines: string[]) =>
    spawnSync('bash', ['-eo', 'pipefail', '-c', lines.join('\n')], { cwd: dir, env, encoding: 'utf8' });
  const script = runs(job.script);
  expect(script.status, script.stdout + script.stderr).toBe(1);
  const after = runs(job.after_script);
  expect(after.status, after.stderr).toBe(0);
  const { paths, reports } = job.artifacts;
  for (const pattern of [...paths, ...Object.values(reports)]) {
    expect(filesOf(dir, pattern), pattern).toHaveLength(1);
  }
  const problems = JSON.parse(readFileSync(path.join(dir, reports['codequality'] ?? ''), 'utf8')) as object[];
  expect(problems).toContainEqual(
    expect.objectContaining({
      check_name: 'proctor/regressed',
      fingerprint: expect.stringMatching(/^desk-[0-9a-f]{64}$/) as string,
      location: { path: 'proctor/cases.yaml', lines: { begin: lineIn(dir) } },
    }),
  );
  expect(runs(['rm -r proctor-report', ...job.after_script]).status).toBe(0);
}, 240_000);

/** A `*` stands for one folder. */
function filesOf(dir: string, pattern: string): string[] {
  const [before = '', after] = pattern.split('/*/');
  if (after === undefined) return existsSync(path.join(dir, pattern)) ? [pattern] : [];
  return readdirSync(path.join(dir, before)).filter(name => existsSync(path.join(dir, before, name, after)));
}

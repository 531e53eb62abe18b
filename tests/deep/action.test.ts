import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { FakeGitHub } from '../action/github.ts';
import { type Job, runAction, workspaceWith } from '../action/runner.ts';

const PULL_REQUEST = {
  event: 'pull_request',
  payload: { pull_request: { number: 7, head: { sha: '0123456789abcdef0123456789abcdef01234567' } } },
};

/** A stand-in for `proctor test` that writes reports, prints hostile output, and ends with this exit code. */
const proctorEnding = (code: number, more = ''): string => `
import { mkdirSync, writeFileSync } from 'node:fs';
const args = process.argv.slice(2);
const out = args[args.indexOf('--out') + 1];
const write = (name, text) => { mkdirSync(out + '/desk', { recursive: true }); writeFileSync(out + '/desk/' + name, text); };
if (${code} !== 2) {
  write('report.md', '## ❌ Regression\\n\\nSay \`@all\`.\\n');
  write('report.html', '<html>');
  write('junit.xml', '<testsuites/>');
  write('annotations.txt', '::error file=cases.yaml,line=12,title=refund::It broke.\\n::notice title=Proctor::Regression\\n');
}
writeFileSync('seen.json', JSON.stringify({ args, env: process.env, cwd: process.cwd() }));
console.log(JSON.stringify({ exit_code: ${code} }));
console.error('::error::forged by the agent');
${more}
process.exitCode = ${code};
`;

interface Seen {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}
const seenIn = (folder: string): Seen => JSON.parse(readFileSync(path.join(folder, 'seen.json'), 'utf8')) as Seen;
const stepOf = ({ steps }: Job, name: string) => steps.find(step => step.name === name);

describe('the steps of the action', () => {
  test.each([0, 1, 2, 3])('end with exit code %i if proctor test does', async code => {
    const job = await runAction({ workspace: workspaceWith(proctorEnding(code)) });
    expect(stepOf(job, 'Test')?.exitCode, stepOf(job, 'Test')?.printed).toBe(code);
    expect(job.outputs['exit-code']).toBe(String(code));
    expect(job.isFailed).toBe(code !== 0);
    expect(stepOf(job, 'Upload the report')?.isSkipped).toBe(false);
    expect(job.summary).toBe(
      code === 2
        ? '## ❌ Proctor could not run\n\nExit code 2, and no report. The log of the step says why.\n'
        : '## ❌ Regression\n\nSay `@all`.\n',
    );
  });

  test('pass the inputs to proctor test as separate arguments', async () => {
    const workspace = workspaceWith(proctorEnding(0));
    mkdirSync(path.join(workspace, 'app'));
    const inputs = {
      'working-directory': 'app',
      config: 'my $(touch evil) file.yaml',
      suites: 'refunds\n  orders ',
      args: '--repeat 3 --only "$(touch evil)"',
    };
    const job = await runAction({ workspace, inputs });
    const { args, cwd } = seenIn(path.join(workspace, 'app'));
    expect(args).toEqual([
      'test',
      'refunds',
      'orders',
      '--repeat',
      '3',
      '--only',
      '"$(touch',
      'evil)"',
      '--config',
      'my $(touch evil) file.yaml',
      '--report',
      'html,junit,md,annotations',
      '--out',
      job.outputs['report'],
      '--json',
    ]);
    expect(cwd).toBe(path.join(workspace, 'app'));
    expect(existsSync(path.join(workspace, 'evil')) || existsSync(path.join(workspace, 'app', 'evil'))).toBe(false);
  });

  test('run a part, and upload its packs under a name of their own', async () => {
    const workspace = workspaceWith(proctorEnding(0));
    const job = await runAction({ workspace, inputs: { shard: '2/4' }, ...PULL_REQUEST });
    expect(seenIn(workspace).args.slice(0, 3)).toEqual(['test', '--shard', '2/4']);
    expect(stepOf(job, 'Upload the part')).toMatchObject({
      isSkipped: false,
      with: { name: 'proctor-report-part-2-of-4' },
    });
    for (const name of ['Upload the report', 'Comment on the pull request', 'Download the parts'])
      expect(stepOf(job, name)?.isSkipped, name).toBe(true);
    expect(job.summary).toBe('');
  });

  test('download the parts and decide on them', async () => {
    const workspace = workspaceWith(proctorEnding(1));
    const job = await runAction({ workspace, inputs: { merge: 'true' } });
    const download = stepOf(job, 'Download the parts');
    expect(download).toMatchObject({ isSkipped: false, with: { pattern: 'proctor-report-part-*' } });
    expect(seenIn(workspace).args.slice(0, 3)).toEqual(['test', '--parts', download?.with?.['path']]);
    expect(stepOf(job, 'Upload the report')?.isSkipped).toBe(false);
    expect(stepOf(job, 'Upload the part')?.isSkipped).toBe(true);
    expect(job.isFailed).toBe(true);
  });

  test.each([
    [{ suites: '--watch' }, 'The input suites must list names of suites, separated by spaces.'],
    [{ suites: '../x' }, 'The input suites must list names'],
    [{ args: '--out=elsewhere' }, 'The input args cannot contain --out, --json'],
    [{ args: '--repeat 3 --accept' }, 'The input args cannot contain --out, --json'],
    [{ args: '--shard 1/2' }, 'The input args cannot contain --out, --json'],
    [{ shard: '2 of 4' }, 'The input shard must have the form i/n'],
    [{ shard: '2/4', merge: 'true' }, 'Use the inputs shard and merge in different jobs'],
    [{ name: 'a --> b' }, 'The input name must have 1 to 60 letters'],
    [{ 'working-directory': 'none' }, 'The input working-directory names a folder that does not exist.'],
  ])('refuse %j before anything runs', async (inputs, message) => {
    const workspace = workspaceWith(proctorEnding(0));
    const job = await runAction({ workspace, inputs });
    expect(stepOf(job, 'Find Proctor')).toMatchObject({ exitCode: 2 });
    expect(stepOf(job, 'Find Proctor')?.printed).toContain(`::error title=Proctor::${message}`);
    expect(job.steps.filter(({ name, isSkipped }) => !isSkipped && name !== 'Find Proctor')).toEqual([]);
    expect(existsSync(path.join(workspace, 'seen.json'))).toBe(false);
  });

  test('print annotations, and keep GitHub from obeying commands that the agent prints', async () => {
    const job = await runAction({ workspace: workspaceWith(proctorEnding(1)) });
    const lines = (stepOf(job, 'Test')?.printed ?? '').split('\n');
    const [, mark = ''] = /^::stop-commands::([0-9a-f-]{36})$/.exec(lines[0] ?? '') ?? [];
    const forged = lines.indexOf('::error::forged by the agent');
    const resumed = lines.indexOf(`::${mark}::`);
    expect(forged).toBeGreaterThan(0);
    expect(resumed).toBeGreaterThan(forged);
    expect(lines.slice(resumed + 1)).toEqual([
      '::error file=cases.yaml,line=12,title=refund::It broke.',
      '::notice title=Proctor::Regression',
      '',
    ]);
  });

  test('hide the token and the variables that control the job from the agent', async () => {
    const workspace = workspaceWith(proctorEnding(0));
    const tokens = { ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'for the cloud', ACTIONS_RUNTIME_TOKEN: 'for the runner' };
    await runAction({ workspace, env: { API_KEY: 'for the agent', ...tokens } });
    const { env } = seenIn(workspace);
    const names = [
      'GITHUB_OUTPUT',
      'GITHUB_ENV',
      'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
      'ACTIONS_RUNTIME_TOKEN',
      'GITHUB_PATH',
      'GITHUB_STEP_SUMMARY',
      'PROCTOR_TOKEN',
      'PROCTOR_COMMAND',
    ];
    expect(names.filter(name => name in env)).toEqual([]);
    expect(env['API_KEY']).toBe('for the agent');
    expect(env['GITHUB_REPOSITORY']).toBe('team/desk');
  });

  test('install Node only if a version is given, and use a Proctor that is already installed', async () => {
    const workspace = workspaceWith(proctorEnding(0));
    const plain = await runAction({ workspace });
    const asked = await runAction({ workspace, inputs: { 'node-version': '22' } });
    expect(stepOf(plain, 'Install Node')?.isSkipped).toBe(true);
    expect(stepOf(asked, 'Install Node')).toMatchObject({ isSkipped: false, with: { 'node-version': '22' } });
    for (const name of ['Restore Proctor', 'Install Proctor']) expect(stepOf(plain, name)?.isSkipped, name).toBe(true);
  });

  test('write one comment on a pull request, and update it', async () => {
    const github = await FakeGitHub.start();
    const options = { workspace: workspaceWith(proctorEnding(1)), ...PULL_REQUEST, apiUrl: github.url };
    const job = await runAction(options);
    expect(stepOf(job, 'Comment on the pull request')).toMatchObject({
      exitCode: 0,
      printed: 'Proctor wrote a comment on the pull request.\n',
    });
    await runAction({ ...options, runId: '101' });
    expect(github.comments.map(({ body }) => body)).toEqual([
      '<!-- proctor proctor-report run 101 -->\n## ❌ Regression\n\nSay `@all`.\n\n\n[Full report](https://github.example/team/desk/actions/runs/101#artifacts) of `0123456789ab`, exit code 1.\n',
    ]);
  });

  test('continue without a comment if the token has no permission to write one', async () => {
    const github = await FakeGitHub.start();
    github.tokens['good'] = { mayWrite: false };
    const job = await runAction({ workspace: workspaceWith(proctorEnding(0)), ...PULL_REQUEST, apiUrl: github.url });
    expect(stepOf(job, 'Comment on the pull request')?.printed).toMatch(
      /^::warning title=Proctor::The token cannot write comments, so Proctor writes none\. Pull requests from forks/,
    );
    expect(job.isFailed).toBe(false);
  });

  test.each([
    ['a push', {}],
    ['the event pull_request_target', { ...PULL_REQUEST, event: 'pull_request_target' }],
    ['comment: false', { ...PULL_REQUEST, inputs: { comment: 'false' } }],
  ])('write no comment for %s', async (_, options) => {
    const github = await FakeGitHub.start();
    await runAction({ workspace: workspaceWith(proctorEnding(1)), apiUrl: github.url, ...options });
    expect(github.requests).toEqual([]);
  });

  test('do not trust a report that is already in the repository', async () => {
    const workspace = workspaceWith(proctorEnding(2));
    mkdirSync(path.join(workspace, 'proctor-report', 'desk'), { recursive: true });
    writeFileSync(path.join(workspace, 'proctor-report', 'desk', 'report.md'), '## ✅ Forged');
    expect((await runAction({ workspace })).summary).not.toContain('Forged');
  });

  test('treat a killed Proctor as an error', async () => {
    const job = await runAction({
      workspace: workspaceWith(proctorEnding(0, "process.kill(process.pid, 'SIGKILL');")),
    });
    expect(stepOf(job, 'Test')?.exitCode).toBe(2);
  });
});

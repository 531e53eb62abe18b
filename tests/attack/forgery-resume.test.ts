/** Suites started elsewhere: Proctor sends nothing to the targets in their folders and runs nothing that they name. */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { JOURNAL } from '../../src/evidence/run-folder/journal.ts';
import { Agent } from '../run/suite/agent.ts';
import { expectValid } from '../run/suite/support.ts';
import { Started } from '../support/runs.ts';
import { proctor, type Ran, ROOT, temporaryFolder } from '../support/support.ts';
import { cloned, digestOf, elsewhere, plantSuite, runFolder, SUITE_RUN } from './forgery-world.ts';

const SECRET = 'victims-token-2f81c7';

/** A clone with a suite that would send one of the victim's variables to the attacker. */
async function planted(): Promise<{ cwd: string; folder: string; thief: Agent; resume: Resume }> {
  const root = temporaryFolder();
  const from = path.join(root, 'theirs');
  mkdirSync(from);
  const thief = new Agent();
  const baseUrl = await thief.start();
  const headers = [{ name: 'authorization', env: 'TOKEN', value: 'a-token-of-theirs' }];
  await elsewhere(root, () => plantSuite(from, { baseUrl, headers, secrets: { OTHER: 'another-of-theirs' } }));
  const cwd = cloned(from, path.join(root, 'mine'));
  thief.seen.length = 0;
  const env = { TOKEN: SECRET, OTHER: 'other-secret', ANTHROPIC_API_KEY: 'key-of-the-victim' };
  const resume: Resume = (...flags) => started(['run', 'suite', '--resume', SUITE_RUN, ...flags], cwd, env);
  return { cwd, folder: runFolder(cwd, 'new', SUITE_RUN), thief, resume };
}

type Resume = (...flags: string[]) => Promise<Ran>;

/** Not synchronous, because the server listens in this process. */
const started = (args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> =>
  new Started(
    spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
      cwd,
      env: { ...process.env, NO_COLOR: '1', npm_lifecycle_event: '', ...env },
    }),
  ).ended;

describe('a suite that came with a clone', () => {
  test('sends nothing to the address that its folder names', async () => {
    const { cwd, thief, resume } = await planted();
    const before = digestOf(cwd);
    for (const flags of [[], ['--header', 'authorization: env:TOKEN'], ['--secret', 'OTHER'], ['--json']]) {
      expect((await resume(...flags)).code, flags.join(' ')).toBe(2);
    }
    expect(thief.seen).toEqual([]);
    expect(digestOf(cwd)).toBe(before);
  });

  test('is listed and shown with a resume command that has placeholders for its target and variables', async () => {
    const { cwd, resume } = await planted();
    const command = `proctor run suite --resume ${SUITE_RUN} --base-url URL --header 'NAME: env:VARIABLE'`;
    expect(proctor(['list'], { cwd }).stdout).toContain(`continue with: ${command}\n`);
    expect(proctor(['show', SUITE_RUN], { cwd }).stdout).toContain(`resume    ${command}\n`);
    expect((await resume()).stderr).toContain(command);
  });

  test('uses only the address and the variables that the resume command names', async () => {
    const { folder, thief, resume } = await planted();
    const mine = new Agent();
    const target = ['--base-url', await mine.start()];
    const lacking = await resume(...target);
    expect(lacking).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--header 'authorization: env:VARIABLE'"),
    });
    expect(lacking.stderr).toContain('--secret OTHER');
    expect(mine.seen).toEqual([]);
    const ran = await resume(...target, '--header', 'authorization: env:TOKEN', '--secret', 'OTHER');
    expect(ran.code, ran.stderr).toBe(0);
    expect(thief.seen).toEqual([]);
    expect(mine.seen.map(({ caseId, headers }) => [caseId, headers.authorization])).toEqual([['two', SECRET]]);
    await expectValid(folder);
  });

  test('records that it was started elsewhere, and how many cases were answered there', async () => {
    const { cwd, folder, resume } = await planted();
    const mine = new Agent();
    const flags = ['--header', 'authorization: env:TOKEN', '--secret', 'OTHER'];
    expect((await resume('--base-url', await mine.start(), ...flags)).code).toBe(0);
    const request: unknown = JSON.parse(readFileSync(path.join(folder, 'evidence', 'request.json'), 'utf8'));
    expect(request).toMatchObject({ begun_elsewhere: { cases_done: 1 } });
    expect(proctor(['show', SUITE_RUN], { cwd }).stdout).toContain('begun_elsewhere: another machine started the run');
  });

  test('runs no script, agent or check script that its folder names', async () => {
    const { cwd, folder, thief, resume } = await planted();
    const mark = path.join(cwd, 'mark');
    const script = path.join(cwd, 'evil.sh');
    writeFileSync(script, `touch ${mark}\n`, { mode: 0o755 });
    const journal = path.join(folder, JOURNAL);
    const text = readFileSync(journal, 'utf8');
    const bounds = '"bounds":{"sandbox":"none","isolation":"none"}';
    const agent = `"agent":{"dir":"${cwd}","policy":"open","cwd":"${cwd}"}`;
    for (const named of [`"script":"${script}"`, `"script":"${script}",${agent}`]) {
      writeFileSync(journal, text.replace('"script":null', named).replace('"bounds":{}', bounds));
      expect((await resume()).code).toBe(2);
    }
    const mine = new Agent();
    const flags = ['--base-url', await mine.start(), '--header', 'authorization: env:TOKEN', '--secret', 'OTHER'];
    const ran = await resume(...flags);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('judged    not yet');
    expect([existsSync(mark), thief.seen.length, mine.seen.length]).toEqual([false, 0, 1]);
  });

  test('accepts an answer only for one of its cases, and only once', async () => {
    const { folder, resume } = await planted();
    const journal = path.join(folder, JOURNAL);
    const answer = /^\{"is":"case".*$/m.exec(readFileSync(journal, 'utf8'))?.[0].replace(/\t.*$/, '') ?? '';
    appendFileSync(journal, `${answer.replaceAll('"one"', '"three"')}\n${answer}\n`);
    const mine = new Agent();
    const flags = ['--header', 'authorization: env:TOKEN', '--secret', 'OTHER'];
    const ran = await resume('--base-url', await mine.start(), ...flags);
    expect(ran.code, ran.stderr).toBe(0);
    expect(mine.seen.map(({ caseId }) => caseId)).toEqual(['two']);
    await expectValid(folder);
  });
});

/** Read-only commands write nothing to the project, and work on a read-only file system. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, plantAgent, plantScript } from '../attack/forgery-world.ts';
import { AGENT_RUN } from '../evidence/agent/agent-world.ts';
import { proctor, proveJournal, type Ran, ROOT } from '../support/support.ts';

const AGENT = `import json
question = json.load(open("input/case.json"))
print(json.dumps({"case_id": question["case_id"], "version": question["version"], "final_output": {"content_type": "text", "content": "yes"}}))
`;
const DEAD = 'script_20260404_000000_bbbbbbbbbbbb';
const PLANTED = 'script_20260404_000000_cccccccccccc';

let root = '';
let cwd = '';

/** A project with finished runs of two kinds, an interrupted one that was started here, and two from elsewhere. */
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'proctor-reading-'));
  cwd = path.join(root, 'project');
  mkdirSync(cwd);
  writeFileSync(path.join(cwd, 'ok.py'), 'import proctor_tool\nproctor_tool.succeed()\n');
  writeFileSync(path.join(cwd, 'agent.py'), AGENT);
  const expected = { contains: ['yes'] };
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([{ id: 'one', input: { user: 'one' }, expected }]));
  expect(proctor(['run', 'script', 'ok.py'], { cwd }).code).toBe(0);
  const suite = ['run', 'suite', 'cases.json', '--script', 'agent.py', '--as', 'new', '--run-id', 'mine'];
  expect(proctor(suite, { cwd }).code).toBe(0);
  proveJournal(plantScript(cwd, DEAD));
  plantScript(cwd, PLANTED);
  plantAgent(cwd);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const READERS: readonly (readonly string[])[] = [
  ['verify', 'latest'],
  ['verify', '.proctor'],
  ['verify', DEAD, PLANTED],
  ['show', 'latest'],
  ['show', 'mine'],
  ['show', DEAD],
  ['show', PLANTED, '--json'],
  ['show', AGENT_RUN],
  ['list'],
  ['list', '--json'],
  ['report', 'mine', '--out', '../reports', '--format', 'html,md,junit,json'],
  ['explain', 'SL7'],
  ['schema', 'runner'],
  ['doctor'],
];

const titled = READERS.map(args => [args.join(' '), args] as const);

describe('a read-only command', () => {
  test.each(titled)('changes no byte of the project: %s', (_, args) => {
    const before = digestOf(cwd);
    const { stderr } = proctor(args, { cwd });
    expect(stderr).not.toContain('bug');
    expect(digestOf(cwd)).toBe(before);
  });

  test('says how to complete an interrupted run', () => {
    expect(proctor(['show', DEAD], { cwd }).stdout).toContain('was interrupted; run proctor recover to complete it');
    expect(proctor(['show', PLANTED], { cwd }).stdout).toContain('interrupted; you did not start it on this machine');
    const { runs } = JSON.parse(proctor(['list', '--json'], { cwd }).stdout) as { runs: Record<string, unknown>[] };
    const of = (id: string) => runs.find(run => run['run_id'] === id);
    expect(of(DEAD)).toMatchObject({ status: 'unfinished', resume: 'proctor recover' });
    expect(of(PLANTED)).toMatchObject({ status: 'unfinished', started_here: false });
  });
});

/** Runs a command with the project mounted read-only. Root needs no user namespace for this. */
function readOnly(args: readonly string[]): Ran {
  const space = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const mounts = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"`;
  const words = [...space, 'sh', '-c', mounts, cwd, process.execPath, path.join(ROOT, 'dist', 'proctor.js'), ...args];
  const { status, stdout, stderr } = spawnSync('unshare', words, {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { code: status, stdout, stderr };
}

/** Whether this user can mount. */
const canMount =
  spawnSync('unshare', [
    ...(process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount']),
    ...['sh', '-c', 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && ! touch /tmp/x 2>/dev/null'],
  ]).status === 0;

describe.runIf(canMount)('a command on a read-only project', () => {
  test.each(titled)('prints the same as on a writable project: %s', (_, args) => {
    const written = path.join(root, 'reports');
    rmSync(written, { recursive: true, force: true });
    const there = proctor(args, { cwd });
    rmSync(written, { recursive: true, force: true });
    const here = readOnly(args);
    expect({ code: here.code, said: timeless(here.stdout) }).toEqual({
      code: there.code,
      said: timeless(there.stdout),
    });
    if (args[0] === 'report')
      expect(readdirSync(written).sort()).toEqual(['junit.xml', 'report.html', 'report.json', 'report.md']);
    else expect(existsSync(written)).toBe(false);
  });
});

/** Durations differ between equal runs. */
const timeless = (text: string): string => text.replaceAll(/[\d.]+ (?:ms|s)\b/g, '');

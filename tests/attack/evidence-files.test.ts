import { execFileSync, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderSource } from '../../src/verify/file-source.ts';
import { verifyFolder } from '../../src/verify/folder.ts';
import { agentFolder, AGENT_RUN } from '../evidence/agent/agent-world.ts';
import { type Place, place, smallHome } from '../support/runs.ts';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';

const isRoot = process.getuid?.() === 0;

const SCRIPT = `import json, os
os.makedirs('output/deep')
open('output/deep/run.sh', 'w').write('#!/bin/sh\\n')
os.chmod('output/deep/run.sh', 0o777)
artifacts = [{'path': 'output/deep/run.sh', 'bytes': 10, 'title': 'x', 'media_type': 'text/plain'}]
json.dump({'contract_version': 1, 'status': 'succeeded', 'html_output': '', 'error_summary': None, 'artifacts': artifacts}, open('result.json', 'w'))
`;

function under(umask: string, here: Place, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const command = [process.execPath, path.join(ROOT, 'dist', 'proctor.js'), ...args];
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', ...command], {
    cwd: here.cwd,
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: here.temp, NO_COLOR: '1', ...env },
    // A command that never ends fails its test instead of blocking all tests.
    timeout: 120_000,
  });
  return { code: status, stdout, stderr };
}

/** Lists everything below a folder that other users can read, write or enter. */
function openToOthers(folder: string): string[] {
  return execFileSync('find', [folder, '-perm', '/077', '!', '-type', 'l'], { encoding: 'utf8' })
    .split('\n')
    .slice(0, -1);
}

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

describe('evidence', () => {
  test.each(['000', '022'])('is private to its owner under umask %s, whichever command writes it', umask => {
    const here = place();
    here.file('s.py', SCRIPT);
    here.file('reply.py', REPLY);
    here.file(
      'cases.json',
      JSON.stringify([{ id: 'a', title: 'a', input: { user: 'x' }, expected: { not_contains: 'sorry' } }]),
    );
    cpSync(path.join(ROOT, 'examples', 'intent', 'build-config.json'), path.join(here.cwd, 'intent.json'));
    const ran = (...args: string[]): void => {
      const { code, stdout, stderr } = under(umask, here, args);
      expect(code, stdout + stderr).toBe(0);
    };
    ran('keys', 'new');
    ran('run', 'script', 's.py', '--copy-output', 'copied');
    ran('run', 'intent', 'intent.json', '--policy', 'dev');
    for (const side of ['baseline', 'new']) ran('run', 'suite', 'cases.json', '--script', 'reply.py', '--as', side);
    ran('compare');
    ran('report', 'latest');
    const home = path.join(here.cwd, '.proctor');
    expect(readdirSync(home)).toEqual(
      expect.arrayContaining(['attempts', 'comparisons', 'keys', 'ledger.ndjson', 'runs']),
    );
    expect(openToOthers(home)).toEqual([]);
    const [run = ''] = readdirSync(path.join(home, 'runs', 'script'));
    ran('pack', run, '--out', 'run.tar');
    ran('unpack', 'run.tar', '--to', 'unpacked');
    expect(openToOthers(path.join(here.cwd, 'unpacked'))).toEqual([]);
    expect(modeOf(path.join(here.cwd, 'run.tar'))).toBe('600');
    // Exported files follow the umask, and none becomes executable.
    ran('report', 'latest', '--out', 'reports');
    const [file, folder] = umask === '000' ? ['666', '777'] : ['644', '755'];
    expect(modeOf(path.join(here.cwd, 'copied/deep/run.sh'))).toBe(file);
    expect(modeOf(path.join(here.cwd, 'reports'))).toBe(folder);
    expect(
      readdirSync(path.join(here.cwd, 'reports')).map(name => modeOf(path.join(here.cwd, 'reports', name))),
    ).toContain(file);
    ran('verify', path.join(home, 'runs', 'script', run), 'unpacked', 'run.tar');
  });

  test.runIf(isRoot)('cannot be reached by another user, even under umask 000', () => {
    const here = place();
    here.file('s.py', SCRIPT);
    expect(under('000', here, ['run', 'script', 's.py']).code).toBe(0);
    const runs = path.join(here.cwd, '.proctor', 'runs');
    const other = { uid: 65_534, gid: 65_534, cwd: '/' };
    expect(spawnSync('ls', [here.cwd], other).status).toBe(0);
    expect(spawnSync('ls', [runs], other).status).not.toBe(0);
  });
});

const REPLY = `import json, os
case = json.load(open('input/case.json'))
os.makedirs('output', exist_ok=True)
reply = {'case_id': case['case_id'], 'version': case['version'], 'proposed_actions': [], 'final_output': {'content_type': 'text', 'content': 'x'}, 'events': []}
json.dump(reply, open('output/reply.json', 'w'))
json.dump({'contract_version': 1, 'status': 'succeeded', 'html_output': '', 'error_summary': None, 'artifacts': []}, open('result.json', 'w'))
`;

describe('files of other users', () => {
  const OTHER = 65_534;

  test.runIf(isRoot)('are not sealed: a run that finds one in its folder is left open', async () => {
    const home = path.join(temporaryFolder(), '.proctor');
    const planted = path.join(home, 'runs', 'agent', AGENT_RUN, 'output', 'planted');
    mkdirSync(path.dirname(planted), { recursive: true });
    writeFileSync(planted, 'x');
    chownSync(planted, OTHER, OTHER);
    await expect(agentFolder(home)).rejects.toMatchObject({ code: 'foreign_file' });
    expect(existsSync(path.join(home, 'runs', 'agent', AGENT_RUN, 'evidence', 'seal.json'))).toBe(false);
  });

  test.runIf(isRoot)('are verified, but neither packed nor applied', async () => {
    const cwd = temporaryFolder();
    const folder = await agentFolder(path.join(cwd, '.proctor'));
    chownSync(path.join(folder, 'workspace.diff'), OTHER, OTHER);
    expect(proctor(['verify', folder], { cwd }).code).toBe(0);
    for (const args of [
      ['pack', AGENT_RUN, '--out', 'x.tar'],
      ['apply', AGENT_RUN],
    ]) {
      const { code, stderr } = proctor(args, { cwd });
      expect({ code: code !== 0, stderr }).toEqual({
        code: true,
        stderr: expect.stringContaining('workspace.diff belongs to another user') as string,
      });
    }
    expect(existsSync(path.join(cwd, 'x.tar'))).toBe(false);
  });

  test('do not prevent verifying a folder that was copied for another user', async () => {
    const folder = await agentFolder(path.join(temporaryFolder(), '.proctor'));
    const copy = path.join(temporaryFolder(), AGENT_RUN);
    cpSync(folder, copy, { recursive: true });
    if (isRoot) execFileSync('chown', ['-R', String(OTHER), copy]);
    execFileSync('chmod', ['-R', 'a+rX', copy]);
    expect(proctor(['verify', copy]).code).toBe(0);
  });
});

describe('a file that becomes a symlink after the folder was listed', () => {
  const exchanged = (folder: string, file: string): void => {
    const away = path.join(temporaryFolder(), 'away');
    renameSync(path.join(folder, file), away);
    symlinkSync(away, path.join(folder, file));
  };

  test.each(['result.json', 'evidence/seal.json', 'evidence/steps/agent/manifest.json', 'evidence/steps', 'evidence'])(
    'is not followed by verify: %s',
    async file => {
      const folder = await agentFolder(path.join(temporaryFolder(), '.proctor'));
      const shelf = folderSource(folder);
      if (!shelf.ok) throw new Error('The folder cannot be listed.');
      exchanged(folder, file);
      const behind = shelf.tree.paths.find(each => each === file || each.startsWith(`${file}/`)) ?? '';
      expect(lstatSync(path.join(folder, behind)).isFile() || behind === file).toBe(true);
      expect(shelf.read(behind, 1_000_000)).toMatchObject({ ok: false, code: 'not_regular' });
      expect(shelf.hash(behind)).toBeUndefined();
      expect(shelf.open(behind)).toMatchObject({ ok: false, code: 'not_regular' });
    },
  );

  test('is neither packed nor sealed', async () => {
    const cwd = temporaryFolder();
    const folder = await agentFolder(path.join(cwd, '.proctor'));
    exchanged(folder, 'workspace.diff');
    expect(proctor(['pack', AGENT_RUN, '--out', 'x.tar'], { cwd }).code).toBe(1);
    const { writePack } = await import('../../src/evidence/pack/pack.ts');
    const packing = { withInternal: false, ledgerLine: undefined };
    await expect(writePack(folder, path.join(cwd, 'y.tar'), packing)).rejects.toMatchObject({ code: 'foreign_file' });
    const home = path.join(temporaryFolder(), '.proctor');
    mkdirSync(path.join(home, 'runs', 'agent', AGENT_RUN), { recursive: true });
    symlinkSync('/etc/hostname', path.join(home, 'runs', 'agent', AGENT_RUN, 'planted'));
    await expect(agentFolder(home)).rejects.toMatchObject({ code: 'foreign_file' });
  });

  test('makes its folder invalid', async () => {
    const folder = await agentFolder(path.join(temporaryFolder(), '.proctor'));
    exchanged(folder, 'result.json');
    const outcomes: string[] = [];
    for await (const verdicts of verifyFolder(folder, {})) outcomes.push(...verdicts.map(({ outcome }) => outcome));
    expect(outcomes.every(outcome => outcome === 'valid')).toBe(false);
  });
});

describe('a location where no folder can be created', () => {
  test('causes a fault and does not block the command', () => {
    const here = place();
    here.file('s.py', SCRIPT);
    const tried = (...args: string[]) => under('022', here, args);
    const copied = tried('run', 'script', 's.py', '--copy-output', '/proc/x/y');
    expect(copied).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Cannot copy the output from the run folder') as string,
    });
    here.file('reply.py', REPLY);
    here.file('cases.json', JSON.stringify([{ id: 'a', title: 'a', input: { user: 'x' }, expected: {} }]));
    for (const side of ['baseline', 'new']) tried('run', 'suite', 'cases.json', '--script', 'reply.py', '--as', side);
    for (const args of [
      ['compare', '--out', '/proc/x'],
      ['report', 'latest', '--out', '/proc/x'],
      ['keys', 'new', '--out', '/proc/x/y'],
      ['run', 'suite', 'cases.json', '--script', 'reply.py', '--as', 'new', '--out', '/proc/x'],
      ['baseline', 'accept', 'latest', '--out', '/proc/x/y'],
      ['pack', 'latest', '--out', '/proc/x/y'],
    ]) {
      const { code, stderr } = tried(...args);
      expect(code, `${args.join(' ')}: ${stderr}`).toBe(2);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    const stateless = under('022', here, ['run', 'script', 's.py'], { XDG_STATE_HOME: '/proc/x' });
    expect(stateless.code, stateless.stderr).not.toBeNull();
  });
});

describe('a full disk', () => {
  test.runIf(isRoot)("is reported as such, and the script's result is kept", context => {
    const here = place();
    const disk = smallHome(context, here, 1_024);
    const script = SCRIPT.replace(
      "os.makedirs('output/deep')",
      "os.makedirs('output/deep'); open('output/big', 'wb').write(os.urandom(4_000_000))",
    );
    here.file('s.py', script);
    const { code, stderr } = here.proctor(['run', 'script', 's.py']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('The output could not be stored: the disk is full.') as string,
    });
    disk.grow();
    const [folder = ''] = here.runFolders();
    const outcome = JSON.parse(readFileSync(path.join(folder, 'evidence', 'outcome.json'), 'utf8')) as object;
    expect(outcome).toMatchObject({
      status: 'failed',
      claimed_status: 'succeeded',
      reason: 'ingest_io',
      public_message: expect.stringContaining('The script did not cause this') as string,
      result: { bytes: expect.any(Number) as number },
      artifacts: { files: 0, declared_missing: [] },
    });
    const shown = here.proctor(['show', 'latest']).stdout;
    expect(shown).toContain('the script reported: succeeded');
    expect(shown).not.toContain('wrote no valid result');
  });
});

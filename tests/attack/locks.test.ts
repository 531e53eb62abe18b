import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SLOTS } from '../../src/execute/host/slots.ts';
import { type Place, place } from '../support/runs.ts';

const isRoot = process.getuid?.() === 0;
const OTHER = 65534;

/** A project with a separate state folder. */
function furnished(): { here: Place; home: string; state: string; env: NodeJS.ProcessEnv } {
  const here = place();
  here.file('ok.sh', `#!/bin/sh\necho '${JSON.stringify(RESULT)}' > result.json\n`, 0o755);
  const home = path.join(here.cwd, '.proctor');
  mkdirSync(home, { mode: 0o755 });
  const state = path.join(here.cwd, 'state');
  mkdirSync(state, { mode: 0o755 });
  return { here, home, state, env: { XDG_STATE_HOME: state } };
}

const RESULT = { contract_version: 1, status: 'succeeded', html_output: '', error_summary: null, artifacts: [] };

const linesIn = (home: string): number => readFileSync(path.join(home, 'ledger.ndjson'), 'utf8').split('\n').length - 1;

/** Runs a program as another user, with the access that the file modes allow. */
function asOther(code: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code, ...args], {
    uid: OTHER,
    gid: OTHER,
    cwd: '/',
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`;
}

describe('locks', () => {
  test('ignore a process that binds abstract socket names: it neither delays runs nor blocks ledger lines', async () => {
    const { here, home, env } = furnished();
    const { dev, ino, uid } = statSync(home, { bigint: true });
    const names = [...Array.from({ length: 64 }, (_, no) => `slot-${no}`), `ledger-${dev}-${ino}`];
    for (const name of names) await bind(`\0proctor-${uid}-${name}`);
    const started = here.start(['run', 'script', 'ok.sh', '--json'], env);
    const { code, stderr } = await started.ended;
    expect(stderr).not.toMatch(/waiting|warning/);
    expect(code).toBe(0);
    expect(linesIn(home)).toBe(1);
  });

  test.runIf(isRoot)('in the state folder can be neither taken nor seen by another user', () => {
    const { here, state, env } = furnished();
    expect(here.proctor(['run', 'script', 'ok.sh'], { env }).code).toBe(0);
    const locks = path.join(state, 'proctor', 'locks');
    expect(lstatSync(path.join(state, 'proctor')).mode & 0o077).toBe(0);
    expect(
      asOther(`import fs from 'node:fs'; fs.symlinkSync('x', process.argv[1]);`, path.join(locks, 'slot')),
    ).toMatch(/EACCES/);
    expect(asOther(`import fs from 'node:fs'; fs.readdirSync(process.argv[1]);`, locks)).toMatch(/EACCES/);
  });

  test.runIf(isRoot)('on a ledger that only its owner can write cannot be taken by another user', () => {
    const { here, home, env } = furnished();
    expect(here.proctor(['run', 'script', 'ok.sh'], { env }).code).toBe(0);
    const code = `import fs from 'node:fs'; fs.symlinkSync('x', process.argv[1]);`;
    expect(asOther(code, path.join(home, 'ledger.lock'))).toMatch(/EACCES/);
    expect(here.proctor(['run', 'script', 'ok.sh'], { env }).stderr).not.toMatch(/warning/);
    expect(linesIn(home)).toBe(2);
  });

  test('do not use a state folder that is a symlink', () => {
    const { here, state, env } = furnished();
    mkdirSync(path.join(here.cwd, 'elsewhere'), { mode: 0o700 });
    symlinkSync(path.join(here.cwd, 'elsewhere'), path.join(state, 'proctor'));
    expectUnused(here, state, env);
  });

  test.each(['777', '770', '702', '755'])('do not use a state folder of mode %s, which is open to others', mode => {
    const { here, state, env } = furnished();
    mkdirSync(path.join(state, 'proctor'));
    chmodSync(path.join(state, 'proctor'), Number.parseInt(mode, 8));
    expectUnused(here, state, env);
  });

  test('do not use a state folder that others can replace', () => {
    const { here, state, env } = furnished();
    chmodSync(state, 0o777);
    expectUnused(here, state, env);
  });

  test.runIf(isRoot)('do not use a state folder of another user', () => {
    const { here, state, env } = furnished();
    mkdirSync(path.join(state, 'proctor'), { mode: 0o700 });
    chownSync(path.join(state, 'proctor'), OTHER, OTHER);
    expectUnused(here, state, env);
  });

  test('are not held by a planted file: the run succeeds, and warns about the file in the way', () => {
    const { here, home, env } = furnished();
    symlinkSync('../../../../etc/passwd', path.join(home, 'ledger.lock'));
    const { code, stderr } = here.proctor(['run', 'script', 'ok.sh'], { env });
    expect(code).toBe(0);
    expect(stderr).toMatch(/warning: ledger_line_missing: .* Proctor did not create ledger\.lock\. Remove it/);
  });
});

/** A run does not depend on an untrusted state folder and takes no lock in it. */
function expectUnused(here: Place, state: string, env: NodeJS.ProcessEnv): void {
  const { code, stderr } = here.proctor(['run', 'script', 'ok.sh'], { env });
  expect(stderr).not.toMatch(/waiting/);
  expect(code).toBe(0);
  expect(existsSync(path.join(state, 'proctor', 'locks'))).toBe(false);
}

/** Binds an abstract socket name if it is free. */
async function bind(name: string): Promise<void> {
  const server: Server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>(resolve => {
    server.once('error', () => resolve());
    server.listen({ path: name }, () => resolve());
  });
}

test('the first test binds the name of every slot', () => {
  expect(SLOTS).toBeLessThanOrEqual(64);
});

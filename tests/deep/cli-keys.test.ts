import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newKeyPair } from '../../src/base/ed25519.ts';
import { makeHome } from '../../src/evidence/run-folder/runs.ts';
import { makeKey, makeKeyIn } from '../../src/evidence/run-folder/signing-key.ts';
import { resumeSuite } from '../../src/verbs/resume-suite.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { runScript } from '../../src/verbs/run-script.ts';
import { runSuite } from '../../src/verbs/run-suite.ts';
import { verify } from '../../src/verify/index.ts';
import { type Place, place, until } from '../support/runs.ts';
import { Agent } from '../run/suite/agent.ts';
import { everythingIn, ranSuite } from '../run/suite/support.ts';
import type { Ran } from '../support/support.ts';

afterAll(closeLauncher);

const OK = `import proctor_tool\nprint('hello')\nproctor_tool.succeed()\n`;
const PUBLIC = path.join('.proctor', 'keys', 'signing.pub');

/** A project with a key, and the id of the key. */
function withKey(): { here: Place; keyId: string } {
  const here = place();
  here.file('ok.py', OK);
  const home = path.join(here.cwd, '.proctor');
  makeHome(home);
  return { here, keyId: makeKeyIn(home).keyId };
}

const ran = (here: Place, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Ran =>
  here.proctor(['run', 'script', 'ok.py', ...args], { env });

const checked = (here: Place, what: string, key = PUBLIC): Ran =>
  here.proctor(['verify', what, '--key', key, '--require-signature']);

async function expectSigned(folder = '', keyFile = ''): Promise<void> {
  const options = { key: readFileSync(keyFile, 'utf8'), requireSignature: true };
  for await (const { outcome, violations } of verify([folder], options)) {
    expect({ outcome, violations }).toEqual({ outcome: 'valid', violations: [] });
  }
}

/** Expects a refusal in one sentence, and that nothing ran. */
function expectRefusal({ code, stderr }: Ran, here: Place, said: RegExp): void {
  expect(code, stderr).toBe(2);
  expect(stderr).toMatch(said);
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  expect(stderr).not.toMatch(/PRIVATE KEY|[\\/]tmp[\\/]|\n\s+at /);
  expect(here.runFolders()).toEqual([]);
}

describe('proctor keys new', () => {
  test('creates a key that only its owner can read, prints its id, and overwrites no key', () => {
    const here = place();
    expect(here.proctor(['keys', 'show']).stdout).toMatch(/^Runs in this project are not signed\./);
    const { code, stdout } = here.proctor(['keys', 'new']);
    expect(code).toBe(0);
    const [, keyId = ''] = /^key id {7}(sha256:[0-9a-f]{64})\n/.exec(stdout) ?? [];
    expect(stdout).toContain('private key  .proctor/keys/signing.key;');
    expect(stdout).toContain('proctor verify latest --key .proctor/keys/signing.pub --require-signature');
    expect(here.proctor(['keys', 'show']).stdout).toBe(`${keyId}\n`);
    const folder = path.join(here.cwd, '.proctor', 'keys');
    const modes = ['.', 'signing.key', 'signing.pub'].map(name => statSync(path.join(folder, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600, 0o600]);
    const before = everythingIn(folder);
    expect(before).toMatch(/-----BEGIN PRIVATE KEY-----\n.*-----BEGIN PUBLIC KEY-----\n/s);
    expect(here.proctor(['keys', 'new'])).toMatchObject({
      code: 2,
      stderr: 'error: signing.key already exists. Proctor does not overwrite keys.\n',
    });
    expect(everythingIn(folder)).toBe(before);
  });

  test('writes to the named file, but not over a file or through a link', () => {
    const here = place();
    const { stdout } = here.proctor(['keys', 'new', '--out', 'deep/ours.key', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ private_key: 'deep/ours.key', public_key: 'deep/ours.pub' });
    expect(existsSync(path.join(here.cwd, '.proctor'))).toBe(false);
    expect(statSync(path.join(here.cwd, 'deep', 'ours.key')).mode & 0o777).toBe(0o600);
    here.file('half.pub', 'mine');
    symlinkSync('elsewhere', path.join(here.cwd, 'link'));
    for (const out of ['deep/ours.key', 'half', 'link']) {
      expect(here.proctor(['keys', 'new', '--out', out]).stderr, out).toMatch(
        /^error: \S+ already exists\. Proctor does not overwrite keys\.\n$/,
      );
    }
    expect(readdirSync(here.cwd).sort()).toEqual(['deep', 'half.pub', 'link']);
  });
});

describe('Proctor with a key', () => {
  test('signs a script run, reports it, and keeps the key out of the run', () => {
    const { here, keyId } = withKey();
    const keyFile = path.join(here.cwd, '.proctor', 'keys', 'signing.key');
    here.file(
      'ok.py',
      `import glob, os, proctor_tool
places = ['${keyFile}', *glob.glob('/proc/*/root${keyFile}'), *glob.glob('/proc/*/cwd/.proctor/keys/*')]
for place in [*places, '/work/../.proctor/keys/signing.key']:
    try: print('read', open(place).read())
    except OSError as error: print(type(error).__name__)
found = [os.path.join(at, name) for at, below, names in os.walk('/') for name in names if name.startswith('signing.')
         if not at.startswith('/usr/')]
print('found', found, [name for name in os.environ if 'KEY' in name])
proctor_tool.succeed()`,
    );
    const run = ran(here);
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toMatch(/^(?:\w+Error\n)+found \[\] \[\]\n$/);
    expect(run.stderr).toContain('sealed and signed');
    const good = checked(here, 'latest');
    expect(good.code, good.stdout).toBe(0);
    expect(good.stdout).toContain('matches its seal and signature');
    expect(here.proctor(['show']).stdout).toContain(`matches its seal, signed by ${keyId} (check with verify --key)`);
    expect(here.proctor(['verify', 'latest']).stdout).toContain(
      'note   The signature was not checked. Use --key FILE to check it.',
    );
    const secret = (readFileSync(keyFile, 'utf8').split('\n')[1] as string).slice(0, 64);
    const kept = everythingIn(path.join(here.cwd, '.proctor', 'runs')) + run.stdout + run.stderr;
    expect(secret.length).toBe(64);
    expect(kept).not.toContain(secret);
  });

  test('signs a suite run and each attempt of its script', () => {
    const { here, keyId } = withKey();
    here.file('cases.json', JSON.stringify([{ id: 'one', input: { user: 'hello' } }]));
    here.file('agent.sh', `printf '{"case_id":"one","final_output":{"content_type":"text","content":"hi"}}'\n`);
    const run = here.proctor(['run', 'suite', 'cases.json', '--script', 'agent.sh', '--as', 'baseline', '--json']);
    expect(run.code, run.stderr).toBe(0);
    const { folder, key_id } = JSON.parse(run.stdout) as { folder: string; key_id: string };
    expect(key_id).toBe(keyId);
    const good = checked(here, folder);
    expect(good.code, good.stdout).toBe(0);
    expect(checked(here, path.join('.proctor', 'attempts', 'runs')).code).toBe(0);
    expect(here.proctor(['show', 'latest']).stdout).toContain(`signed by ${keyId}`);
  });

  test('signs a killed run on recovery, and leaves it unfinished while the key is unusable', async () => {
    const { here } = withKey();
    here.file('slow.py', `import time\nprint('up', flush=True)\ntime.sleep(60)`);
    const started = here.start(['run', 'script', 'slow.py']);
    await until('the script runs', () => started.stdout.includes('up'));
    started.kill('SIGKILL');
    await started.ended;
    const keyFile = path.join(here.cwd, '.proctor', 'keys', 'signing.key');
    chmodSync(keyFile, 0o640);
    expect(here.proctor(['recover']).stdout).toContain(
      'is unchanged: The signing key signing.key is accessible to other',
    );
    chmodSync(keyFile, 0o600);
    expect(here.proctor(['recover']).stdout).toContain('its run folder is complete now');
    const good = checked(here, 'latest');
    expect(good.code, good.stdout).toBe(0);
  });
});

describe('a resumed suite', () => {
  test('is signed with the key that exists when it resumes', async () => {
    const here = place();
    const agent = new Agent();
    const baseUrl = await agent.start();
    const stopped = AbortSignal.abort();
    writeCases(here);
    const options = { cases: 'cases.json', as: 'new', baseUrl, cwd: here.cwd, signal: stopped } as const;
    const [open] = (await runSuite(options)).runs;
    expect(open?.isOpen).toBe(true);
    const { keyId } = makeKeyIn(path.join(here.cwd, '.proctor'));
    const resumed = await resumeSuite(open?.place.id ?? '', { cwd: here.cwd, variable: () => undefined });
    expect(resumed.keyId).toBe(keyId);
    await expectSigned(resumed.runs[0]?.place.folder, path.join(here.cwd, PUBLIC));
  });
});

function writeCases(here: Place): void {
  here.file('cases.json', JSON.stringify([{ id: 'one', input: { user: 'hello' } }]));
}

describe('PROCTOR_KEY', () => {
  test("takes precedence over the project's key", () => {
    const { here } = withKey();
    makeKey(path.join(here.cwd, 'other.key'));
    expect(ran(here, [], { PROCTOR_KEY: 'other.key' }).stderr).toContain('sealed and signed');
    expect(checked(here, 'latest', 'other.pub').code).toBe(0);
    const wrong = checked(here, 'latest');
    expect(wrong.code).toBe(3);
    expect(wrong.stdout).toMatch(/SL8 {3}evidence\/seal\.json is signed with sha256:/);
  });

  test.each([
    ['is missing', 'nowhere.key', /The signing key nowhere\.key does not exist/],
    ['is open to others', 'open.key', /The signing key open\.key is accessible to other users: run chmod 600/],
    ['is empty', '', /The name of the signing key is empty/],
  ])('that %s stops a run before it starts', (_, file, said) => {
    const here = place();
    here.file('ok.py', OK);
    here.file('open.key', newKeyPair().privatePem, 0o644);
    writeCases(here);
    const env = { PROCTOR_KEY: file };
    expectRefusal(ran(here, [], env), here, said);
    const suite = ['run', 'suite', 'cases.json', '--base-url', 'http://127.0.0.1:9', '--as', 'new'];
    expectRefusal(here.proctor(suite, { env }), here, said);
    expect(existsSync(path.join(here.cwd, '.proctor'))).toBe(false);
  });

  test("that is unset leaves the project's key in use, and a dangling link to that key stops a run", () => {
    const { here } = withKey();
    const keyFile = path.join(here.cwd, '.proctor', 'keys', 'signing.key');
    unlinkSync(keyFile);
    symlinkSync('gone', keyFile);
    expectRefusal(ran(here), here, /signing\.key does not exist/);
  });
});

describe('Proctor as a library', () => {
  test('signs with the key in the options and returns its id', async () => {
    const here = place();
    const script = here.file('ok.py', OK);
    makeKey(path.join(here.cwd, 'our.key'));
    const { keyId, folder } = await runScript({ script, cwd: here.cwd, signingKey: 'our.key' });
    expect(keyId).toMatch(/^sha256:/);
    await expectSigned(folder, path.join(here.cwd, 'our.pub'));
    const agent = new Agent();
    const { result } = await ranSuite(['a'], { baseUrl: await agent.start(), cwd: here.cwd, signingKey: 'our.key' });
    expect(result.keyId).toBe(keyId);
    await expectSigned(result.runs[0]?.place.folder, path.join(here.cwd, 'our.pub'));
    await expect(runScript({ script, cwd: here.cwd, signingKey: 'their.key' })).rejects.toMatchObject({
      code: 'bad_key',
    });
  });
});

describe('proctor verify', () => {
  test('rejects bad key options', () => {
    const { here } = withKey();
    const asked = (...flags: string[]): Ran => here.proctor(['verify', '.', ...flags]);
    expect(asked('--require-signature')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--key FILE') as string,
    });
    expect(asked('--key', '.proctor/keys/signing.key')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The key is a private key.') as string,
    });
    expect(asked('--key', 'nowhere.pub')).toMatchObject({
      code: 2,
      stderr: 'error: Cannot read the key nowhere.pub, or it is larger than 64 KiB.\n',
    });
  });

  test('reports what the seal of an unsigned folder proves', () => {
    const here = place();
    here.file('ok.py', OK);
    ran(here);
    const plain = here.proctor(['verify', 'latest']);
    expect(plain.code).toBe(0);
    expect(plain.stdout).toContain('note   An unsigned seal reveals accidental changes, but not forgery.');
    makeKeyIn(path.join(here.cwd, '.proctor'));
    expect(here.proctor(['verify', 'latest', '--key', PUBLIC])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('advice SL10: evidence/seal.json is not signed') as string,
    });
    expect(checked(here, 'latest')).toMatchObject({ code: 3 });
  });
});

import { spawnSync } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { privateKeyIn } from '../../src/base/ed25519.ts';
import { bytesHash } from '../../src/base/hash.ts';
import {
  type SealEnvelope,
  type SealStatement,
  sealEnvelope,
  sealStatement,
  signerWith,
} from '../../src/contracts/seal/index.ts';
import { makeJudgedPlace } from '../support/judged-world.ts';
import { Place } from '../support/runs.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

const page = readFileSync(path.join(ROOT, 'docs', 'evidence.md'), 'utf8');
const section = page.slice(page.indexOf('## Check a run with sha256sum and openssl'));
/** The code blocks of the page, in order: names to replace, signature, files. */
const [, signature = '', files = ''] = [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
  ([, code]) => code as string,
);

const SCRIPT = `import proctor_tool
open('output/ä b.txt', 'w').write('aaa')
proctor_tool.succeed()`;

let here: Place;
let run = '';
let key = '';

beforeAll(() => {
  here = new Place();
  here.proctor(['keys', 'new']);
  here.proctor(['keys', 'new', '--out', 'other.key']);
  here.file('script.py', SCRIPT);
  const ran = here.proctor(['run', 'script', 'script.py']);
  expect(ran.code, ran.stderr).toBe(0);
  [run = ''] = here.runFolders();
  key = path.join(here.cwd, '.proctor', 'keys', 'signing.pub');
});

afterAll(() => here.remove());

function shell(
  code: string,
  folder: string,
  publicKey = key,
  names: Readonly<Record<string, string>> = {},
): { ok: boolean; said: string } {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', code], {
    env: { PATH: process.env['PATH'], TMPDIR: temporaryFolder(), RUN: folder, KEY: publicKey, ...names },
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { ok: status === 0, said: stdout + stderr };
}

function copied(change: (folder: string) => void): string {
  const folder = path.join(temporaryFolder(), 'run');
  cpSync(run, folder, { recursive: true });
  change(folder);
  return folder;
}

/** Changes a file and its seal, but keeps the old signature. */
function forge(folder: string): void {
  const file = path.join(folder, 'evidence', 'seal.json');
  writeFileSync(path.join(folder, 'output', 'ä b.txt'), 'bbb');
  const envelope = JSON.parse(readFileSync(file, 'utf8')) as SealEnvelope;
  const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString()) as SealStatement;
  for (const { name, digest } of statement.subject) {
    if (name === 'output/ä b.txt') digest.sha256 = bytesHash('bbb').slice('sha256:'.length);
  }
  writeFileSync(file, canonicalize({ ...sealEnvelope(statement), signatures: envelope.signatures }));
}

/** The second block under a heading of the page, after the names to replace. */
function commandsUnder(heading: string): string {
  const [, code = ''] = [...page.slice(page.indexOf(heading)).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
    ([, text]) => text as string,
  );
  return code;
}

describe('the commands for evaluations', () => {
  const verdict = commandsUnder('### An evaluation or a comparison');
  const baseline = commandsUnder('### An accepted baseline');
  let judged: Place;
  let own = '';
  let run = '';
  let comparison = '';

  beforeAll(() => {
    judged = makeJudgedPlace();
    const home = path.join(judged.cwd, '.proctor');
    own = path.join(home, 'keys', 'signing.pub');
    run = path.join(home, 'runs', 'new', 'after');
    const [name = ''] = readdirSync(path.join(home, 'comparisons'));
    comparison = path.join(home, 'comparisons', name);
  });
  afterAll(() => judged.remove());

  const checked = (folder: string, seal: string, publicKey = own) =>
    shell(verdict, '', publicKey, { FOLDER: folder, SEAL: seal });
  const AS_SIGNED = 'Signature Verified Successfully\nThe verdict has not changed since it was signed.\n';

  test('accept a signed evaluation and a signed comparison', () => {
    expect(checked(run, 'evaluation.seal.json')).toEqual({ ok: true, said: AS_SIGNED });
    expect(checked(comparison, 'comparison.seal.json')).toEqual({ ok: true, said: AS_SIGNED });
  });

  test('detect a changed verdict, a changed report, the verdict of another run, and another key', () => {
    const copy = (from: string): string => {
      const folder = path.join(temporaryFolder(), 'copy');
      cpSync(from, folder, { recursive: true });
      return folder;
    };
    const evaluation = copy(run);
    appendFileSync(path.join(evaluation, 'evaluation.json'), ' ');
    expect(checked(evaluation, 'evaluation.seal.json')).toMatchObject({ ok: false });
    const report = copy(comparison);
    appendFileSync(path.join(report, 'report.html'), ' ');
    expect(checked(report, 'comparison.seal.json')).toMatchObject({ ok: false });
    const moved = copy(run);
    for (const name of ['evaluation.json', 'evaluation.seal.json']) {
      cpSync(path.join(run, '..', '..', 'baseline', 'before', name), path.join(moved, name));
    }
    expect(checked(moved, 'evaluation.seal.json')).toMatchObject({ ok: false });
    expect(checked(run, 'evaluation.seal.json', key)).toMatchObject({ ok: false });
  });

  test('accept a signed baseline and detect a changed one', () => {
    const file = path.join(judged.cwd, 'proctor-baseline.json');
    expect(shell(baseline, '', own, { BASELINE: file })).toEqual({
      ok: true,
      said: 'Signature Verified Successfully\nThe baseline has not changed since it was signed.\n',
    });
    const changed = path.join(temporaryFolder(), 'changed.json');
    writeFileSync(changed, readFileSync(file, 'utf8').replace('"verdict":"pass"', '"verdict":"fail"'));
    expect(shell(baseline, '', own, { BASELINE: changed })).toMatchObject({ ok: false });
    expect(shell(baseline, '', key, { BASELINE: file })).toMatchObject({ ok: false });
  });
});

describe('the commands of docs/evidence.md', () => {
  test('accept a signed folder without using Proctor', () => {
    expect(shell(signature + files, run)).toEqual({
      ok: true,
      said: 'Signature Verified Successfully\nNo file has changed since it was signed.\n',
    });
  });

  const output = (folder: string): string => path.join(folder, 'output', 'ä b.txt');
  const tampered: [string, (folder: string) => void][] = [
    ['a changed file', folder => appendFileSync(output(folder), 'x')],
    ['a missing file', folder => rmSync(output(folder))],
    ['an extra file', folder => writeFileSync(path.join(folder, 'output', 'more'), '')],
    ['a link to the same bytes', folder => linkTo(output(folder))],
    ['an extra link', folder => symlinkSync('result.json', path.join(folder, 'more'))],
    ['a rewritten seal', forge],
  ];
  test.each(tampered)('detect %s', (_, change) => {
    expect(shell(signature + files, copied(change))).toMatchObject({ ok: false });
  });

  test('detect a rewritten seal by its signature alone', () => {
    const folder = copied(forge);
    expect(shell(signature, folder)).toMatchObject({ ok: false, said: 'Signature Verification Failure\n' });
    expect(shell(signature.replace(/^openssl.*\n/m, '') + files, folder)).toMatchObject({ ok: true });
  });

  test('detect a signature by another key', () => {
    expect(shell(signature, run, path.join(here.cwd, 'other.pub'))).toMatchObject({ ok: false });
  });

  test('do not mistake one unusual file name for another', () => {
    const folder = temporaryFolder();
    const names = ['a', 'a"b'];
    for (const name of names) writeFileSync(path.join(folder, name), 'x');
    mkdirSync(path.join(folder, 'evidence'));
    const listed = names.map(name => ({ path: name, sha256: bytesHash('x'), bytes: 1 }));
    const sealed = { runId: 'script_1', kind: 'script', sealedAt: '2026-04-03T10:15:07.412Z', files: listed } as const;
    const pem = readFileSync(path.join(here.cwd, '.proctor', 'keys', 'signing.key'), 'utf8');
    const seal = sealEnvelope(sealStatement(sealed), signerWith(privateKeyIn(pem) as KeyObject));
    writeFileSync(path.join(folder, 'evidence', 'seal.json'), canonicalize(seal));
    expect(shell(signature, folder)).toMatchObject({ ok: true });
    expect(shell(signature + files, folder)).toMatchObject({ ok: false });
  });

  test('compute the same key id as Proctor', () => {
    const [command = ''] = /openssl pkey -pubin[^`]*/.exec(page) ?? [];
    const { said } = shell(command.replace('signing.pub', '"$KEY"'), run);
    expect(`sha256:${said.slice(0, 64)}\n`).toBe(here.proctor(['keys', 'show']).stdout);
  });
});

function linkTo(file: string): void {
  const aside = path.join(temporaryFolder(), 'aside');
  cpSync(file, aside);
  rmSync(file);
  symlinkSync(aside, file);
}

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { newKeyPair } from '../../src/base/ed25519.ts';
import { place } from '../support/runs.ts';
import type { Ran } from '../support/support.ts';

const SCRIPT = `#!/bin/sh
echo 'what it did'
mkdir -p output && echo 'a report' > output/report.txt
echo '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json
`;

const answer = ({ stdout }: Ran): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;

test('packs a run that verifies and unpacks to the same evidence elsewhere', () => {
  const here = place();
  here.file('report.sh', SCRIPT);
  expect(here.proctor(['keys', 'new']).code).toBe(0);
  expect(here.proctor(['run', 'script', 'report.sh']).code).toBe(0);
  const packed = here.proctor(['pack']);
  expect(packed).toMatchObject({ code: 0, stderr: '' });
  expect(packed.stdout).toMatch(
    /^✓ packed {2}script_\S+: \d+ entries, [\d.]+ KiB, without 1 internal file, with its ledger line\n/,
  );
  const file = readdirSync(here.cwd).find(name => name.endsWith('.proctor.tar')) ?? '';
  expect(packed.stdout).toContain(`pack    ${file}\n`);

  const there = place();
  writeFileSync(path.join(there.cwd, 'evidence'), readFileSync(path.join(here.cwd, file)));
  const verified = there.proctor(['verify', 'evidence']);
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect(verified.stdout).toMatch(/^✓ evidence {2}matches its seal; documents: all \d+ valid/);
  expect(verified.stdout).toContain('not checked: the internal files, which are not included\n');

  const key = readFileSync(path.join(here.cwd, '.proctor', 'keys', 'signing.pub'), 'utf8');
  there.file('signing.pub', key);
  there.file('other.pub', newKeyPair().publicPem);
  const asked = (name: string): Ran => there.proctor(['verify', 'evidence', '--key', name, '--require-signature']);
  expect(asked('signing.pub')).toMatchObject({ code: 0, stderr: '' });
  expect(asked('other.pub')).toMatchObject({ code: 3, stdout: expect.stringContaining('SL8') as string });

  const unpacked = there.proctor(['unpack', 'evidence', '--to', 'run']);
  expect(unpacked.stdout).toMatch(/^✓ unpacked {2}script_\S+: \d+ files, without 1 internal file/);
  expect(there.proctor(['verify', 'run']).code).toBe(0);
  expect(readFileSync(path.join(there.cwd, 'run', 'output', 'report.txt'), 'utf8')).toBe('a report\n');
  expect(there.proctor(['show', 'run']).stdout).toContain('report.sh');
  expect(execFileSync('tar', ['-tf', path.join(there.cwd, 'evidence')], { encoding: 'utf8' })).toMatch(
    /^folder\/evidence\/events\.ndjson\n[\s\S]*folder\/result\.json\nledger-line\.json\npack\.json\n$/,
  );
});

test('prints JSON for programs and sets the exit code', () => {
  const here = place();
  here.file('report.sh', SCRIPT);
  const { run_id: id } = answer(here.proctor(['run', 'script', 'report.sh', '--json'])) as { run_id: string };
  const packed = here.proctor(['pack', id, '--out', 'a.tar', '--internal', '--json']);
  expect(answer(packed)).toMatchObject({ ok: true, run_id: id, kind: 'script', file: 'a.tar', left_out: 0 });
  expect(answer(packed)['sha256']).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(answer(here.proctor(['unpack', 'a.tar', '--to', 'b', '--json']))).toMatchObject({ ok: true, folder: 'b' });
  expect(answer(here.proctor(['verify', 'a.tar', '--json']))).toMatchObject({ ok: true, exit_code: 0 });

  const again = here.proctor(['pack', id, '--out', 'a.tar', '--json']);
  expect(again.code).toBe(2);
  expect(answer(again)).toMatchObject({ ok: false, error: { code: 'exists' } });
  expect(here.proctor(['unpack', 'a.tar', '--to', 'b']).code).toBe(2);

  const bytes = readFileSync(path.join(here.cwd, 'a.tar'));
  bytes.write('c', bytes.indexOf('what it did'));
  writeFileSync(path.join(here.cwd, 'c.tar'), bytes);
  const broken = here.proctor(['verify', 'c.tar']);
  expect(broken.code).toBe(3);
  expect(broken.stdout).toContain('does not match the hash of the file');
  writeFileSync(path.join(here.cwd, 'e.tar'), bytes.subarray(0, -512));
  expect(here.proctor(['verify', 'e.tar']).stdout).toMatch(/^✗ e\.tar {2}not a valid pack: one rule broken\n {4}PK15 /);
  const refused = here.proctor(['unpack', 'c.tar', '--to', 'c', '--json']);
  expect(refused.code).toBe(1);
  expect(answer(refused)).toMatchObject({ ok: false, error: { code: 'not_valid' } });
  expect(refused.stderr).toMatch(/^error: Cannot unpack, because the pack does not verify: FD3 /);
  expect(existsSync(path.join(here.cwd, 'c'))).toBe(false);

  writeFileSync(path.join(here.cwd, 'b', 'output', 'report.txt'), 'another report');
  const spoilt = here.proctor(['pack', 'b', '--out', 'd.tar']);
  expect(spoilt).toMatchObject({ code: 1, stdout: '' });
  expect(spoilt.stderr).toContain(', because it does not verify: SL5 output/report.txt');
  expect(here.proctor(['pack', 'nothing']).code).toBe(2);
});

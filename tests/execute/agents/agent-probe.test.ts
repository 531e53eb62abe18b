import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { findAgentProgram, type AgentProgram } from '../../../src/execute/agents/agent-program.ts';
import { digestOf, probe, probeVersion } from '../../../src/execute/agents/agent-probe.ts';
import { openLauncher } from '../../../src/execute/launcher/launch.ts';
import { temporaryFolder } from '../../support/support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const { missing, isRoot } = await launcher.machine();

function programOf(text: string): AgentProgram {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'claude'), text, { mode: 0o755 });
  return findAgentProgram('claude', folder) as AgentProgram;
}

/** Replaces the cached hash. */
function forge(memory: string): string {
  const file = path.join(memory, 'agent-digests.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/sha256:\w+/, FORGED));
  return file;
}

const FORGED = `sha256:${'0'.repeat(64)}`;

describe('the digest of a program', () => {
  test('is the hash of its bytes, cached until the file changes', async () => {
    const memory = temporaryFolder();
    const program = programOf('#!/bin/sh\necho 1\n');
    expect(await digestOf(program, memory)).toBe(bytesHash('#!/bin/sh\necho 1\n'));
    forge(memory);
    expect(await digestOf(program, memory)).toBe(FORGED);
    expect(await digestOf(program)).toBe(bytesHash('#!/bin/sh\necho 1\n'));
    utimesSync(program.file, 1, 1);
    expect(await digestOf(program, memory)).toBe(bytesHash('#!/bin/sh\necho 1\n'));
  });

  test('fails for a missing program', async () => {
    const program = { ...programOf('#!/bin/sh\n'), file: '/nowhere/claude' };
    await expect(digestOf(program, temporaryFolder())).rejects.toMatchObject({ code: 'agent_unusable' });
  });

  test('is not read from a cache that another user could have written', async () => {
    const memory = temporaryFolder();
    const program = programOf('#!/bin/sh\n');
    const digest = await digestOf(program, memory);
    chmodSync(forge(memory), 0o666);
    expect(await digestOf(program, memory)).toBe(digest);
    if (isRoot) {
      chownSync(forge(memory), 65_534, 65_534);
      expect(await digestOf(program, memory)).toBe(digest);
    }
  });

  test.each(['', '{', '7', '[[1,2]]', '[["x"]]', 'x'.repeat(5_000_000)])(
    'is computed again if the cache is invalid: %.10s',
    async bytes => {
      const memory = temporaryFolder();
      writeFileSync(path.join(memory, 'agent-digests.json'), bytes);
      expect(await digestOf(programOf('#!/bin/sh\n'), memory)).toBe(bytesHash('#!/bin/sh\n'));
    },
  );

  test('is cached, for at most 32 programs', async () => {
    const memory = temporaryFolder();
    for (let index = 0; index < 40; index++) await digestOf(programOf(`#!/bin/sh\n# ${index}\n`), memory);
    const kept = JSON.parse(readFileSync(path.join(memory, 'agent-digests.json'), 'utf8')) as unknown[];
    expect(kept).toHaveLength(32);
  });

  test('does not need a cache', async () => {
    const file = path.join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(await digestOf(programOf('#!/bin/sh\n'), path.join(file, 'below'))).toBe(bytesHash('#!/bin/sh\n'));
  });
});

describe.runIf(missing.length === 0)('a probed program', () => {
  test('runs once, in a sandbox with a home and without a network', async () => {
    const memory = temporaryFolder();
    const program = programOf(
      '#!/bin/sh\necho "$1 1.2.3"; echo x > "$HOME/x" && ls "$HOME" /work; ls -d /root /home; exit 0\n',
    );
    expect(await probeVersion(launcher, program, memory)).toBe('--version 1.2.3\n/agent/home:\nx\n\n/work:\n');
    expect(readdirSync(memory).sort()).toEqual(['agent-digests.json', 'agent-probes.json']);
    const file = path.join(memory, 'agent-probes.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('1.2.3', '9.9.9'));
    expect(await probeVersion(launcher, program, memory)).toContain('9.9.9');
    chmodSync(file, 0o666);
    expect(await probeVersion(launcher, program, memory)).toContain('1.2.3');
  });

  test("runs with Proctor's Node if it needs Node", async () => {
    const program = programOf('#!/usr/bin/env node\nconsole.log(process.version, process.execPath);\n');
    expect(await probeVersion(launcher, program)).toBe(`${process.version} /agent/bin/node\n`);
  });

  test('returns at most 4 KiB of output, and its exit code', async () => {
    const program = programOf('#!/bin/sh\nhead -c 100000 /dev/zero | tr "\\0" x; echo bad >&2; exit 3\n');
    const memory = temporaryFolder();
    const probed = await probe(launcher, program, ['sandbox', 'x'], memory);
    expect(probed).toEqual({ code: 3, stdout: 'x'.repeat(4_096), stderr: 'bad\n' });
    expect(await probe(launcher, program, ['sandbox', 'x'], memory)).toEqual(probed);
    await expect(probeVersion(launcher, program)).rejects.toMatchObject({ code: 'agent_unusable' });
  });

  test('has its result cached only if it exits by itself', async () => {
    const memory = temporaryFolder();
    const program = programOf('#!/no/such/interpreter\n');
    expect((await probe(launcher, program, [], memory)).code).toBe(undefined);
    expect(existsSync(path.join(memory, 'agent-probes.json'))).toBe(false);
  });
});

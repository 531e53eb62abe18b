import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { contentHash } from '../../../src/base/hash.ts';
import { builtInPolicies } from '../../../src/contracts/agent-policy/index.ts';
import { readAgentPolicy } from '../../../src/run/agent/read-policy.ts';
import { temporaryFolder } from '../../support/support.ts';

function read(content: string | Buffer, name = 'mine.yaml') {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, name), content);
  return readAgentPolicy(name, folder);
}

const YAML = `# Documents only.
name: docs-only
extends: edit
allowed_paths: [docs, README.md]
limits:
  timeout_ms: 900000
`;

describe('an agent policy', () => {
  test.each(Object.entries(builtInPolicies))('%s can be selected by name', (name, policy) => {
    expect(readAgentPolicy(name, temporaryFolder())).toEqual({ policy, name, sha256: contentHash(policy) });
  });

  test('has the same hash in YAML and in JSON', () => {
    const yaml = read(YAML);
    expect(yaml.policy).toEqual({
      schema_version: 'agent-policy.v1',
      name: 'docs-only',
      extends: 'edit',
      allowed_paths: ['docs', 'README.md'],
      limits: { timeout_ms: 900_000 },
    });
    const { schema_version: _, ...written } = yaml.policy;
    expect(read(JSON.stringify(written, null, 2), 'mine.json')).toEqual(yaml);
    expect(yaml.sha256).toMatch(/^sha256:[a-f0-9]{64}$/);
  });

  test('reports every error with its line', () => {
    expect(() => read('name: mine\nextends: edit\nnetwork: allow\nlimits:\n  timeout: 5m\n')).toThrow(
      `The agent policy is not valid:
  line 3: network is an unknown key.
  line 5: limits.timeout is an unknown key.`,
    );
    expect(() => read('name: mine\nallowed_paths:\n  - src\n  - ../up\n')).toThrow(
      `The agent policy is not valid:
  line 4: allowed_paths[1] must be a relative path, but contains "..".`,
    );
    expect(() => read('{\n  "name": "mine",\n  "extends": "edit",\n  "network_posture": "allow"\n}')).toThrow(
      `The agent policy is not valid:
  line 4: network_posture is looser than "deny", the value in the extended policy edit.`,
    );
    expect(() => read('name: mine\nname: yours\n')).toThrow(
      'The agent policy cannot be read, line 2: The key is a duplicate.',
    );
    expect(() => read('')).toThrow('The agent policy is empty.');
    expect(() => read('- read_only\n')).toThrow('must be an object');
    expect(() => read(Buffer.from([0x6e, 0xe9]))).toThrow('not valid UTF-8');
    expect(() => read(Buffer.alloc(1024 ** 2 + 1, 0x23))).toThrow('The agent policy is larger than 1 MiB.');
  });

  test('may be a symlink', () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'mine.yaml'), 'name: mine\nextends: edit\n');
    symlinkSync('mine.yaml', path.join(folder, 'link.yaml'));
    expect(readAgentPolicy('link.yaml', folder)).toEqual(readAgentPolicy('mine.yaml', folder));
  });

  test('that does not exist is refused without revealing a path', () => {
    const folder = temporaryFolder();
    const none = 'There is no such agent policy. Use read-only, edit, open or the path of a readable file.';
    expect(() => readAgentPolicy('readonly', folder)).toThrow(`${none} Did you mean "read-only"?`);
    expect(() => readAgentPolicy('nothing.yaml', folder)).toThrow(new RegExp(`^${none}$`));
    mkdirSync(path.join(folder, 'folder'));
    symlinkSync('nowhere', path.join(folder, 'link'));
    for (const word of ['folder', 'link', '', '__proto__', 'a\0b']) {
      expect(() => readAgentPolicy(word, folder), word).toThrow(none);
    }
  });
});

import { describe, expect, test } from 'vitest';
import type { Changes } from '../../src/contracts/agent-step/changes.ts';
import type { EffectivePolicy } from '../../src/contracts/agent-step/policy.ts';
import { violationsIn } from '../../src/policy/agent-violations.ts';

const SHA = '1'.repeat(40);
const OTHER = '2'.repeat(40);

const NOTHING: Changes = {
  kind: 'clone',
  baseSha: SHA,
  baseRef: 'main',
  branch: 'proctor/x',
  diff: { bytes: 0, sha256: `sha256:${'0'.repeat(64)}`, cut: null },
  changed: [],
  ignored: { files: 0, bytes: 0, paths: [] },
  commits: { listed: [], total: 0 },
  refs: [],
  branchMoved: false,
  rewritten: false,
  gitFolder: 'kept',
  gitConfigChanged: false,
  hooks: [],
  nested: [],
  submodules: [],
  linksOut: [],
  collisions: [],
  leftOut: [],
  needsReview: [],
  notes: [],
};

const EDIT: EffectivePolicy = {
  execution_posture: 'workspace_write',
  network_posture: 'deny',
  approval_posture: 'deny_interactive',
  allowed_paths: ['.'],
  forbidden_paths: [],
  forbidden_operations: [],
};

const wrote = (...paths: string[]): Partial<Changes> => ({
  changed: paths.map(path => ({ path, change: 'update', bytes: 1, mode: '100644' })),
});

const ref = (name: string, sha: string | null = OTHER, isProtected = false): Partial<Changes> => ({
  refs: [{ name, change: sha === null ? 'deleted' : 'moved', sha, isProtected }],
});

const found = (changes: Partial<Changes>, policy: Partial<EffectivePolicy> = {}): string[] =>
  violationsIn({ ...NOTHING, ...changes }, { ...EDIT, ...policy }).map(({ class: kind, path, operation, hard }) =>
    [kind, path ?? operation ?? '', ...(hard ? [] : ['soft'])].join(' ').trim(),
  );

describe('an agent breaks its policy', () => {
  test.each<[string, Partial<Changes>, Partial<EffectivePolicy>, string[]]>([
    [
      'but not if it changes nothing',
      {},
      { execution_posture: 'read_only', forbidden_operations: ['commit', 'push', 'delete', 'force', 'configure'] },
      [],
    ],
    ['but not in an allowed path', wrote('src/a.ts'), { allowed_paths: ['src'] }, []],
    [
      'outside the allowed paths',
      wrote('src/a.ts', 'srcs/a.ts', 'package.json'),
      { allowed_paths: ['src'] },
      ['forbidden_path srcs/a.ts', 'forbidden_path package.json'],
    ],
    [
      'next to an allowed folder, with a backslash in the name',
      wrote('src\\a.ts', 'src/b\\c.ts'),
      { allowed_paths: ['src'] },
      ['forbidden_path src\\a.ts'],
    ],
    [
      'with another spelling of a forbidden name',
      wrote('docs/STRASSE', 'docs/legal.md.', 'docs/Legal.md /x', 'docs/legal.md::$DATA', 'docs/legal.mdx'),
      { forbidden_paths: ['docs/Straße', 'docs/legal.md'] },
      [
        'forbidden_path docs/STRASSE',
        'forbidden_path docs/legal.md.',
        'forbidden_path docs/Legal.md /x',
        'forbidden_path docs/legal.md::$DATA',
      ],
    ],
    ['with any change if no path is allowed', wrote('a'), { allowed_paths: [] }, ['forbidden_path a']],
    ['with any change under read_only', wrote('a'), { execution_posture: 'read_only' }, ['forbidden_path a']],
    [
      'in a forbidden path inside an allowed one',
      wrote('src/gen/x', 'src/y'),
      { allowed_paths: ['src'], forbidden_paths: ['src/gen'] },
      ['forbidden_path src/gen/x'],
    ],
    [
      'in another spelling of a forbidden folder',
      wrote('SRC/Gen/x', 'caf\u0065\u0301/x'),
      { forbidden_paths: ['src/gen', 'caf\u00e9'] },
      ['forbidden_path SRC/Gen/x', 'forbidden_path caf\u0065\u0301/x'],
    ],
    ['in another spelling of an allowed folder', wrote('SRC/a'), { allowed_paths: ['src'] }, ['forbidden_path SRC/a']],
    [
      'in an ignored file',
      { ignored: { files: 1, bytes: 1, paths: ['x.log'] } },
      { allowed_paths: ['src'] },
      ['forbidden_path x.log'],
    ],
    [
      'in a nested repository, a submodule or a FIFO',
      {
        nested: ['n'],
        submodules: [{ path: 's', from: null, to: null }],
        leftOut: [{ path: 'f', why: 'fifo', bytes: 0 }],
      },
      { allowed_paths: ['src'] },
      ['forbidden_path n', 'forbidden_path s', 'forbidden_path f'],
    ],
    [
      'with a commit',
      { commits: { listed: [{ sha: OTHER, subject: 's' }], total: 1 }, ...ref('refs/heads/proctor/x') },
      { forbidden_operations: ['commit'] },
      ['forbidden_operation commit'],
    ],
    [
      'with unreadable commits',
      ref('refs/heads/proctor/x'),
      { forbidden_operations: ['commit'] },
      ['forbidden_operation commit'],
    ],
    [
      'but not with a tag at the base commit',
      ref('refs/tags/x', SHA),
      { forbidden_operations: ['commit', 'push'] },
      [],
    ],
    [
      'with a remote-tracking ref',
      ref('refs/remotes/origin/x', SHA),
      { forbidden_operations: ['push'] },
      ['forbidden_operation push'],
    ],
    [
      'if it deletes a file',
      { changed: [{ path: 'a', change: 'delete', bytes: 0, mode: '100644' }] },
      { forbidden_operations: ['delete'] },
      ['forbidden_operation delete'],
    ],
    ['if it rewrites history', { rewritten: true }, { forbidden_operations: ['force'] }, ['forbidden_operation force']],
    [
      'with git configuration and hooks, if they are forbidden',
      { gitConfigChanged: true, hooks: ['.git/hooks/x'] },
      { forbidden_operations: ['configure'] },
      ['forbidden_operation configure'],
    ],
    [
      'with hooks in a forbidden path',
      { hooks: ['.git/hooks/x'] },
      { forbidden_paths: ['.git/hooks'], allowed_paths: ['src'] },
      ['forbidden_path .git/hooks/x'],
    ],
    [
      'but not with git configuration and hooks that are not forbidden',
      { gitConfigChanged: true, hooks: ['.git/hooks/x'] },
      { allowed_paths: ['src'] },
      [],
    ],
    ['if it moves a protected branch', ref('refs/heads/main', OTHER, true), {}, ['protected_branch_violation']],
    ['if it deletes a protected branch', ref('refs/heads/main', null, true), {}, ['protected_branch_violation']],
    ['but not with an unknown operation', {}, { forbidden_operations: ['toString', 'dance'] }, []],
  ])('%s', (_, changes, policy, classes) => {
    expect(found(changes, policy)).toEqual(classes);
  });

  test('in 250 paths, of which 100 are listed', () => {
    const paths = Array.from({ length: 250 }, (_, index) => `f${index}`);
    const violations = violationsIn({ ...NOTHING, ...wrote(...paths) }, { ...EDIT, allowed_paths: [] });
    expect(violations).toHaveLength(101);
    expect(violations.at(-1)?.message).toContain('150 more');
  });
});

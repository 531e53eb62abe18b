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
      'not at all with nothing',
      {},
      { execution_posture: 'read_only', forbidden_operations: ['commit', 'push', 'delete', 'force', 'configure'] },
      [],
    ],
    ['not with what is allowed', wrote('src/a.ts'), { allowed_paths: ['src'] }, []],
    [
      'outside of what is allowed',
      wrote('src/a.ts', 'srcs/a.ts', 'package.json'),
      { allowed_paths: ['src'] },
      ['forbidden_path srcs/a.ts', 'forbidden_path package.json'],
    ],
    [
      'beside an allowed folder, with a name that looks like a path into it',
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
    ['with anything where nothing is', wrote('a'), { allowed_paths: [] }, ['forbidden_path a']],
    ['with anything under read_only', wrote('a'), { execution_posture: 'read_only' }, ['forbidden_path a']],
    [
      'in what is forbidden within the allowed',
      wrote('src/gen/x', 'src/y'),
      { allowed_paths: ['src'], forbidden_paths: ['src/gen'] },
      ['forbidden_path src/gen/x'],
    ],
    [
      'in another spelling of what is forbidden',
      wrote('SRC/Gen/x', 'caf\u0065\u0301/x'),
      { forbidden_paths: ['src/gen', 'caf\u00e9'] },
      ['forbidden_path SRC/Gen/x', 'forbidden_path caf\u0065\u0301/x'],
    ],
    ['by another spelling of what is allowed', wrote('SRC/a'), { allowed_paths: ['src'] }, ['forbidden_path SRC/a']],
    [
      'in a file that is ignored',
      { ignored: { files: 1, bytes: 1, paths: ['x.log'] } },
      { allowed_paths: ['src'] },
      ['forbidden_path x.log'],
    ],
    [
      'in a repository within, a submodule, a FIFO',
      {
        nested: ['n'],
        submodules: [{ path: 's', from: null, to: null }],
        leftOut: [{ path: 'f', why: 'fifo', bytes: 0 }],
      },
      { allowed_paths: ['src'] },
      ['forbidden_path n', 'forbidden_path s', 'forbidden_path f'],
    ],
    [
      'by a commit',
      { commits: { listed: [{ sha: OTHER, subject: 's' }], total: 1 }, ...ref('refs/heads/proctor/x') },
      { forbidden_operations: ['commit'] },
      ['forbidden_operation commit'],
    ],
    [
      'by commits that cannot be read',
      ref('refs/heads/proctor/x'),
      { forbidden_operations: ['commit'] },
      ['forbidden_operation commit'],
    ],
    ['not by a tag at base', ref('refs/tags/x', SHA), { forbidden_operations: ['commit', 'push'] }, []],
    [
      'by what pushing leaves',
      ref('refs/remotes/origin/x', SHA),
      { forbidden_operations: ['push'] },
      ['forbidden_operation push'],
    ],
    [
      'by deleting a file',
      { changed: [{ path: 'a', change: 'delete', bytes: 0, mode: '100644' }] },
      { forbidden_operations: ['delete'] },
      ['forbidden_operation delete'],
    ],
    ['by rewriting history', { rewritten: true }, { forbidden_operations: ['force'] }, ['forbidden_operation force']],
    [
      'by settings and hooks, if those are forbidden',
      { gitConfigChanged: true, hooks: ['.git/hooks/x'] },
      { forbidden_operations: ['configure'] },
      ['forbidden_operation configure'],
    ],
    [
      'by hooks as a path',
      { hooks: ['.git/hooks/x'] },
      { forbidden_paths: ['.git/hooks'], allowed_paths: ['src'] },
      ['forbidden_path .git/hooks/x'],
    ],
    [
      'not by settings and hooks that nobody forbade',
      { gitConfigChanged: true, hooks: ['.git/hooks/x'] },
      { allowed_paths: ['src'] },
      [],
    ],
    ['by a branch of the user', ref('refs/heads/main', OTHER, true), {}, ['protected_branch_violation']],
    ['by deleting that branch', ref('refs/heads/main', null, true), {}, ['protected_branch_violation']],
    ['not by an operation that leaves no trace', {}, { forbidden_operations: ['toString', 'dance'] }, []],
  ])('%s', (_, changes, policy, classes) => {
    expect(found(changes, policy)).toEqual(classes);
  });

  test('in very many places, which are counted', () => {
    const paths = Array.from({ length: 250 }, (_, index) => `f${index}`);
    const violations = violationsIn({ ...NOTHING, ...wrote(...paths) }, { ...EDIT, allowed_paths: [] });
    expect(violations).toHaveLength(101);
    expect(violations.at(-1)?.message).toContain('150 more');
  });
});

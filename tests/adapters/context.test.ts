import { describe, expect, test } from 'vitest';
import { importsIn, plainSkill } from '../../src/adapters/context.ts';

describe('imports', () => {
  test('are words that start with @, but not in code or comments', () => {
    const text = [
      'See @docs/a.md and `@docs/span.md`, mail a@docs/mail.md, (@docs/paren.md) @./b.md',
      '```sh',
      '@docs/fence.md',
      '```',
      '<!-- @docs/comment.md',
      '@docs/comment-2.md --> @c.md',
      '@~/home.md @/etc/passwd @@x',
    ].join('\n');
    expect(importsIn(text)).toEqual(['docs/a.md', './b.md', 'c.md', '@x']);
  });

  test('are ignored in unclosed code and comments', () => {
    expect(importsIn('```\n@a.md')).toEqual([]);
    expect(importsIn('<!-- @a.md')).toEqual([]);
  });

  test('are found in linear time', () => {
    const hostile = ['<!--'.repeat(50_000), '```\n'.repeat(50_000), '`@'.repeat(50_000), ' @'.repeat(100_000)].join(
      '\n',
    );
    expect(importsIn(hostile)).toEqual([]);
  });
});

describe('a skill', () => {
  const skill = (text: string): string => plainSkill({ name: 'greet', folder: '/work/.claude/skills/greet', text });

  test('keeps its name, its description and its text', () => {
    const text = '---\nname: hello\ndescription: >-\n  Greets\n  people\n---\nRun ${CLAUDE_SKILL_DIR}/x.sh.\n';
    expect(skill(text)).toBe(
      '---\nname: hello\ndescription: >-\n  Greets\n  people\n---\n\nRun /work/.claude/skills/greet/x.sh.\n\nThe files of this skill are in /work/.claude/skills/greet.\n',
    );
  });

  const hostile: readonly (readonly [string, string])[] = [
    [
      'as keys',
      'description: x\nhooks:\n  PreToolUse: evil\nallowed-tools: Bash(evil)\nmodel: evil\ncontext: evil\nagent: evil',
    ],
    ['as quoted keys', '"hooks": evil\n\'allowed-tools\': evil'],
    ['as explicit keys', '? hooks\n: evil\n? allowed-tools\n: evil'],
    ['in a flow mapping', '{ name: x, hooks: { evil: evil } }'],
    ['with extra indentation', '  name: x\n  hooks: evil'],
    ['after a comment', 'name: x\n# y\n  hooks: evil\nhooks: evil'],
    ['with Windows line ends', 'name: x\r\nhooks: evil\r'],
  ];
  test.each(hostile)('loses its hooks and permissions %s', (_, head) => {
    for (const before of ['', '\uFEFF']) expect(skill(`${before}---\n${head}\n---\nThe text.\n`)).not.toContain('evil');
  });

  test('gets a header if it has none, so that its text cannot act as one', () => {
    expect(skill('\n---\nhooks: x\n---\n')).toMatch(/^---\nname: greet\n---\n\n/);
    expect(skill('\uFEFF\uFEFF---\nhooks: x\n---\n')).toMatch(/^---\nname: greet\n---\n\n/);
  });
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { type StreamLimits, StreamKeeper } from '../../../src/execute/job/kept-stream.ts';
import { temporaryFolder } from '../../support/support.ts';

const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });

function keep(said: readonly (string | Uint8Array)[], keeping: Partial<StreamLimits>) {
  const keeper = new StreamKeeper({ headBytes: 1_000, tailBytes: 1_000, secrets: [], ...keeping });
  const shown = said.map(chunk => Buffer.from(keeper.take(Buffer.from(chunk as string))));
  const { rest, kept } = keeper.end();
  return { kept, shown: Buffer.concat([...shown, rest]) };
}

describe('any output, however it is split', () => {
  test('is counted and hashed completely, and its head and tail are kept', () => {
    fc.assert(
      fc.property(chunks, fc.nat(100), fc.nat(100), (said, headBytes, tailBytes) => {
        const whole = Buffer.concat(said);
        const { kept, shown } = keep(said, { headBytes, tailBytes });
        const head = whole.subarray(0, headBytes);
        const rest = whole.subarray(head.length);
        expect(shown).toEqual(whole);
        expect(kept).toEqual({
          bytesTotal: whole.length,
          sha256: bytesHash(whole),
          head,
          tail: rest.subarray(Math.max(0, rest.length - tailBytes)),
          masked: 0,
          kinds: {},
        });
      }),
      { numRuns: 500 },
    );
  });

  test('does not change if the buffer is reused', () => {
    const chunk = Buffer.from('first and last');
    const keeper = new StreamKeeper({ headBytes: 5, tailBytes: 4, secrets: [] });
    keeper.take(chunk);
    chunk.fill('x');
    const { kept } = keeper.end();
    expect([Buffer.from(kept.head).toString(), Buffer.from(kept.tail).toString()]).toEqual(['first', 'last']);
  });

  test('always has its head in the file', () => {
    const folder = temporaryFolder();
    let no = 0;
    fc.assert(
      fc.property(chunks, fc.nat(100), (said, headBytes) => {
        const file = path.join(folder, String(no++));
        const keeper = new StreamKeeper({ headBytes, tailBytes: 10, secrets: [], file });
        let shown = Buffer.alloc(0);
        for (const chunk of said) {
          shown = Buffer.concat([shown, keeper.take(Buffer.from(chunk))]);
          if (shown.length > 0 && headBytes > 0) expect(readFileSync(file)).toEqual(shown.subarray(0, headBytes));
        }
        keeper.end();
      }),
      { numRuns: 100 },
    );
  });
});

describe('a secret in the output', () => {
  test('is masked in the kept bytes, the shown output and the file, before they are hashed', () => {
    const file = path.join(temporaryFolder(), 'stdout.part');
    const { kept, shown } = keep(['a hun', 'ter2 b ', 'hunter2'], {
      secrets: ['hunter2'],
      headBytes: 12,
      tailBytes: 12,
      file,
    });
    const safe = 'a [masked] b [masked]';
    expect(shown.toString()).toBe(safe);
    expect(kept).toMatchObject({ masked: 2, bytesTotal: safe.length, sha256: bytesHash(safe) });
    expect(Buffer.concat([kept.head, kept.tail]).toString()).toBe(safe);
    expect(readFileSync(file, 'utf8')).toBe(safe.slice(0, 12));
  });

  test('that is incomplete at the end is kept', () => {
    expect(keep(['hunter'], { secrets: ['hunter2'] })).toMatchObject({
      shown: Buffer.from('hunter'),
      kept: { bytesTotal: 6 },
    });
  });
});

describe('a credential in the output', () => {
  test.each([
    ['a token', `x ghp_${'a1'.repeat(18)} y`, 'x [masked] y', { github_token: 1 }],
    ['a password in a URL', 'https://me:hunter2@example.org/', 'https://me:[masked]@example.org/', { url_password: 1 }],
    [
      'a password with two-byte characters',
      'https://me:pàss@example.org/',
      'https://me:[masked]@example.org/',
      { url_password: 1 },
    ],
    ['two access keys', `AKIA${'A1'.repeat(8)} AKIA${'B2'.repeat(8)}`, '[masked] [masked]', { aws_access_key: 2 }],
  ])('such as %s is masked and counted, however it is split', (_, text, expected, kinds) => {
    const pieces = [[text], Array.from(text), [text.slice(0, 9), text.slice(9)]];
    for (const said of pieces) {
      const { kept, shown } = keep(said, { headBytes: 1_000 });
      expect(shown.toString()).toBe(expected);
      expect(kept).toMatchObject({ kinds, bytesTotal: Buffer.byteLength(expected) });
    }
  });

  test('is kept on request, unlike declared secrets', () => {
    const token = `ghp_${'a1'.repeat(18)}`;
    const { shown, kept } = keep([`${token} hunter2`], { secrets: ['hunter2'], keepCredentials: true });
    expect(shown.toString()).toBe(`${token} [masked]`);
    expect(kept.kinds).toEqual({ declared_secret: 1 });
  });

  test('leaves every byte around it unchanged', () => {
    const all = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));
    const { shown } = keep([Buffer.concat([all, Buffer.from(` ghp_${'a1'.repeat(18)} `), all])], {});
    expect(shown).toEqual(Buffer.concat([all, Buffer.from(' [masked] '), all]));
  });
});

describe('an unwritable stream file', () => {
  test('does not affect the run', () => {
    const file = path.join(temporaryFolder(), 'no', 'such', 'folder');
    expect(keep(['said'], { file }).kept).toMatchObject({ bytesTotal: 4, head: Buffer.from('said') });
  });

  test('never receives a later part as its head', () => {
    const folder = path.join(temporaryFolder(), 'late');
    const file = path.join(folder, 'stdout.part');
    const keeper = new StreamKeeper({ headBytes: 100, tailBytes: 10, secrets: [], file });
    keeper.take(Buffer.from('first '));
    mkdirSync(folder);
    keeper.take(Buffer.from('second'));
    keeper.end();
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  test('does not replace an existing file of the same name', () => {
    const file = path.join(temporaryFolder(), 'stdout.part');
    writeFileSync(file, 'of another');
    keep(['said'], { file });
    expect(readFileSync(file, 'utf8')).toBe('of another');
  });
});

import { describe, expect, test } from 'vitest';
import { credentials } from '../../bench/leaks.ts';
import { CREDENTIAL_FINDERS } from '../../src/base/credential-finder.ts';
import { Masker, maskingOf } from '../../src/base/masker.ts';

const mask = (text: string): { readonly text: string; readonly kinds: object } => {
  const masker = new Masker(maskingOf([]));
  return { text: masker.text(text), kinds: masker.kinds };
};

describe('a well-known credential', () => {
  test.each(credentials(7).map(({ kind, text, core }) => [kind, text, core] as const))(
    'of kind %s is masked',
    (kind, text, core) => {
      for (const [before, after] of [
        ['said ', ' today'],
        ['{"said":"first\\n', '"}'],
        ['\u001b[31m', '\u001b[0m'],
        ['q=%22', '%22'],
      ] as const) {
        const { text: safe, kinds } = mask(before + text + after);
        expect(safe).not.toContain(core.slice(0, 40));
        expect(Object.keys(kinds)).toEqual([kind]);
        expect(mask(safe)).toEqual({ text: safe, kinds: {} });
      }
    },
  );

  test.each(credentials(7).map(({ kind, text }) => [kind, text] as const))(
    'of kind %s is masked in the same way for any chunking',
    (_, text) => {
      const all = Buffer.from(`before ${text} after, ${text.slice(0, 12)} and the end`);
      const whole = new Masker(maskingOf([])).whole(all).toString();
      for (const size of [1, 2, 3, 5, 13, 64]) {
        const masker = new Masker(maskingOf([]));
        const parts: Buffer[] = [];
        for (let at = 0; at < all.length; at += size) parts.push(masker.take(all.subarray(at, at + size)));
        expect(Buffer.concat([...parts, masker.end()]).toString(), `pieces of ${size}`).toBe(whole);
      }
    },
  );

  test.each(credentials(7).map(({ kind, text }) => [kind, text] as const))(
    'of kind %s is masked the same way wherever the stream is split',
    (_, text) => {
      const all = Buffer.from(
        `before ${text} after [masked], ${text.slice(0, 12)} and ghp_[masked]${'x9'.repeat(20)} end`,
      );
      const whole = new Masker(maskingOf([])).whole(all).toString();
      for (let cut = 1; cut < all.length; cut++) {
        const masker = new Masker(maskingOf([]));
        const parts = [masker.take(all.subarray(0, cut)), masker.take(all.subarray(cut)), masker.end()];
        expect(Buffer.concat(parts).toString(), `cut at ${cut}`).toBe(whole);
      }
    },
  );

  test.each([
    ['private_key', 'gitlab_token'],
    ['private_key', 'google_key'],
    ['private_key', 'slack_token'],
    ['aws_secret_key', 'github_token'],
    ['shopify_token', 'slack_token'],
    ['github_token', 'stripe_key'],
  ])('of kind %s is masked directly after one of kind %s', (kind, before) => {
    for (const first of credentials(8).filter(one => one.kind === before)) {
      for (const { text, core } of credentials(7).filter(one => one.kind === kind)) {
        for (const joined of ['', '-', '[masked]']) {
          const { text: safe } = mask(`said ${first.text}${joined}${text} today`);
          expect(safe).not.toContain(core.slice(-12));
          expect(safe).not.toContain(first.core.slice(-12));
        }
      }
    }
  });

  test('is not found in ordinary words, names and paths', () => {
    const text = [
      'task-list-of-all-the-things, ask-me-anything-about-it, sk-folding-cube-container-of-css',
      'Basic internationalization of bearer-only-clients-everywhere and Bearer of good news',
      'npm_config_registry_of_the_whole_company_and_others hf_transformers_and_their_friends_of_old',
      'https://user:${password}@host/ https://example.com:8080/path@v2 mailto:me@example.com',
      '-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----',
      'the text -----BEGIN PRIVATE KEY----- stands before a key',
      'import { createHash } from "node:crypto"; node_modules/@types/node/stream/consumers.d.ts',
    ].join('\n');
    expect(mask(text)).toEqual({ text, kinds: {} });
  });
});

/** A byte array that counts reads. Native code bypasses the counter, but reads each byte once. */
function counted(bytes: Buffer): { readonly bytes: Buffer; readonly reads: () => number } {
  let reads = 0;
  const proxy = new Proxy(bytes, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) {
        reads++;
        return target[Number(key)];
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { bytes: proxy, reads: () => reads };
}

describe('hostile text', () => {
  const PEM = `-----BEGIN ${'PRIVATE'} KEY-----`;
  const units = [
    ...anchors(),
    PEM,
    `${PEM}AAAA`,
    '-----BEGIN ',
    'PRIVATE KEY',
    '-',
    'a',
    '://a:',
    'a://b:c',
    'a://@',
    '@',
    'Bearer ',
    'eyJaaaaaaaaaaaaaaaa.',
    'eyJaaaaaaaaaaaaaaaa.eyJaaaaaaaaaaaaaaaa.',
    '-eyJ',
    '\\neyJa',
    'SECRET_ACCESS_KEY=',
    '_authToken=',
    ';Password=',
    'sk-aaaaaaaaaaaaaaa ',
    '[masked]',
    'ghp_[masked]',
  ];

  test.each(units)('that repeats %j is searched with a linear number of reads', unit => {
    const readsOf = (length: number): number => {
      const { bytes, reads } = counted(Buffer.from(unit.repeat(Math.ceil(length / unit.length))));
      for (const finder of CREDENTIAL_FINDERS) {
        for (let from = 0; from < bytes.length; ) {
          const found = finder.find(bytes, from, false);
          if (!found) break;
          from = Math.max(from + 1, found.end);
        }
      }
      return reads();
    };
    const small = readsOf(8_192);
    // Eight times the text may cost slightly more than eight times the reads, but never 64 times.
    expect(readsOf(65_536)).toBeLessThan(10 * small + 80_000);
    expect(small).toBeLessThan(120 * 8_192);
  });
});

/** Prefixes of some forms. A naive search would read the rest of the text again after each of them. */
function anchors(): string[] {
  return [
    'sk-',
    'ghp_',
    'xoxb-',
    'AKIA',
    'AIza',
    'npm_',
    'hf_a',
    'SG.a',
    'eyJa',
    'glpat-',
    'AccountKey=',
    'hooks.slack.com/services/',
  ];
}

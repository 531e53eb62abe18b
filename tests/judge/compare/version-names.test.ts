import { describe, expect, test } from 'vitest';
import { NAME_UNITS_MAX, versionNames } from '../../../src/judge/compare/version-names.ts';

const version = (id: string, facts: Readonly<Record<string, string>> = {}) => ({
  id,
  facts: Object.entries(facts).map(([name, value]) => ({ name, value })),
});
const generated = (digits: string): string => `suite_20260106_120000_${digits.padStart(12, '0')}`;

describe('the names of versions', () => {
  test('are the ids that people chose', () => {
    expect(versionNames([version('v1', { model: 'a' }), version('v2', { model: 'b' })])).toEqual(['v1', 'v2']);
  });

  test('are the first fact that tells all versions apart', () => {
    const names = versionNames([
      version(generated('1'), { agent: 'claude', model: 'small', target: 'a' }),
      version(generated('2'), { agent: 'claude', model: 'large', target: 'b' }),
      version('v3', { agent: 'codex', model: 'other', target: 'c' }),
    ]);
    expect(names).toEqual(['small', 'large', 'other']);
  });

  test('join facts if no single one is enough', () => {
    const names = versionNames([
      version(generated('1'), { agent: 'claude', model: 'small' }),
      version(generated('2'), { agent: 'claude', model: 'large' }),
      version(generated('3'), { agent: 'codex', model: 'large' }),
    ]);
    expect(names).toEqual(['claude · small', 'claude · large', 'codex · large']);
  });

  test('end with the id if the facts are equal or unknown', () => {
    expect(versionNames([version(generated('a1')), version(generated('b2'))])).toEqual([
      '0000000000a1',
      '0000000000b2',
    ]);
    const names = versionNames([
      version(generated('1'), { model: 'a' }),
      version(generated('2'), { model: 'b' }),
      version(generated('3'), { model: 'b' }),
    ]);
    expect(names).toEqual(['a 000000000001', 'b 000000000002', 'b 000000000003']);
  });

  test('stay short and distinct if only the ends of long values differ', () => {
    const long = 'x'.repeat(300);
    const names = versionNames(['a', 'b', 'c'].map(end => version(`${long}${end}`, { model: `${long}${end}` })));
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(NAME_UNITS_MAX);
  });
});

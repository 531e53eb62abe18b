import { describe, expect, test } from 'vitest';
import { readGate } from '../../../src/judge/compare/gate-file.ts';

const read = (text: string) => readGate(Buffer.from(text));

describe('a gate file', () => {
  test('is YAML or JSON, and missing settings have defaults', () => {
    expect(read('schema_version: gate.v1\n')).toEqual({ mode: 'balanced', tolerances: {}, missing_max_ratio: 0.05 });
    expect(read('{"schema_version":"gate.v1","mode":"proven","margin":0.1,"missing_max_ratio":0}')).toEqual({
      mode: 'proven',
      margin: 0.1,
      tolerances: {},
      missing_max_ratio: 0,
    });
    expect(
      read('schema_version: gate.v1\ntolerances:\n  latency_ms: { statistic: p95, max_increase_ratio: 0.2 }\n')
        .tolerances,
    ).toEqual({ latency_ms: { statistic: 'p95', max_increase_ratio: 0.2 } });
  });

  const refused: [string, string, string][] = [
    ['of an unknown version', 'schema_version: gate.v9', 'schema_version must be "gate.v1"'],
    ['with a removed mode', 'schema_version: gate.v1\nmode: statistical', 'line 2: mode must be'],
    ['that allows every drop', 'schema_version: gate.v1\nmargin: 1', 'line 2: margin must'],
    ['with a misspelled key', 'schema_version: gate.v1\ntolerance: {}', 'an unknown key'],
    [
      'with a tolerance that limits nothing',
      'schema_version: gate.v1\ntolerances: { cost_usd: { statistic: mean } }',
      'max_increase',
    ],
    ['with a duplicate key', 'schema_version: gate.v1\nmode: strict\nmode: statistical', 'line 3'],
    ['with a duplicate key in JSON', '{"schema_version":"gate.v1","schema_version":"gate.v1"}', 'cannot be read'],
    ['with aliases that multiply', 'a: &a [x, x]\nb: &b [*a, *a]\nschema_version: gate.v1', 'is an unknown key'],
    ['that is nested too deeply', '['.repeat(20_000), 'nested deeper'],
    ['that is empty', '', 'is empty'],
    ['that is a list', '- 1', 'must be an object'],
    ['with a number that is not finite', 'schema_version: gate.v1\nmissing_max_ratio: .nan', 'line 2'],
  ];
  test.each(refused)('%s is refused in a sentence', (_, text, words) => {
    expect(() => read(text)).toThrow(words);
  });

  const faulty = `schema_version: gate.v1
mode: loose
missing_max_ratio: 5
tolerances:
  latency_ms: { statistic: p95 }
  cost_usd:
    statistic: mean
    max_increas: 1
`;

  test('reports every problem with its line', () => {
    expect(() => read(faulty)).toThrow(
      /^The gate file is not valid:\n {2}line 2: mode .*\n {2}line 3: missing_max_ratio /,
    );
    expect(() => read(faulty)).toThrow(/\n {2}line 8: tolerances\.cost_usd\.max_increas is an unknown key.*$/);
    expect(() => read('{\n"schema_version": "gate.v1",\n"mode": "loose",\n"mood": 1}')).toThrow(
      /^The gate file is not valid:\n {2}line 3: mode .*\n {2}line 4: mood is an unknown key/,
    );
  });

  test('reports at most twenty problems', () => {
    const keys = Array.from({ length: 30 }, (_, index) => `k${index}: 1\n`).join('');
    expect(() => read(`schema_version: gate.v1\n${keys}`)).toThrow(/\n {2}and 10 more$/);
  });

  test('is rejected unread if it is too large', () => {
    expect(() => readGate(Buffer.alloc(2 * 1024 * 1024, 0x20))).toThrow('larger than 1 MiB');
  });

  test('is rejected if it is not UTF-8', () => {
    expect(() => readGate(Buffer.from('schema_version: gate.v1\n# \xe9', 'latin1'))).toThrow('not valid UTF-8');
  });
});

import { describe, expect, test } from 'vitest';
import {
  assetsManifest,
  caseArtifact,
  caseFailureExample,
  failureMeta,
  runArtifact,
} from '../../src/contracts/artifacts/index.ts';
import { adviceOn, claimsOf, HEX, judged, type Row, testRows } from './artifacts-words.ts';

const SECRET = '../hunter2';

const contracts = [runArtifact, caseArtifact, failureMeta, assetsManifest];

describe.each(contracts.map(contract => [contract.name, contract] as const))('%s', (_, contract) => {
  test('accepts its example without advice', () => {
    expect(judged(contract, contract.example)).toEqual({ violations: [], advice: [], omitted: 0 });
  });

  test.each(contract.rules.map(rule => [rule.id, rule] as const))(
    'has a breach of %s that breaks only that rule',
    (id, rule) => {
      const { violations, advice } = judged(contract, rule.breach(contract.example as never));
      expect([...new Set(violations.map(({ rule_id }) => rule_id))]).toEqual([id]);
      expect(advice).toEqual([]);
    },
  );

  test('has no two rules that share an id or own the same key', () => {
    const ids = contract.rules.map(({ id }) => id);
    const fields = contract.rules.flatMap(rule => rule.fields);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(fields).size).toBe(fields.length);
  });

  test('reports the missing version of an empty document first', () => {
    const { violations } = judged(contract, {});
    expect(violations[0]).toEqual({
      rule_id: 'AA1',
      path: 'schema_version',
      message: 'schema_version is missing.',
    });
  });

  test('assigns every malformed value to a rule and never repeats it in a message', () => {
    for (const example of [contract.example, ...(contract === caseArtifact ? [caseFailureExample] : [])]) {
      for (const wrong of [undefined, null, true, -0.5, SECRET, [SECRET], { [SECRET]: SECRET }, [[null]]]) {
        for (const changed of withEachPlace(example, wrong)) {
          const { violations } = judged(contract, changed);
          expect(violations.map(({ rule_id }) => rule_id)).not.toContain(undefined);
          expect(JSON.stringify(violations)).not.toContain(SECRET);
        }
      }
    }
  });

  test('advises against unknown keys', () => {
    const { violations, advice } = judged(contract, { ...(contract.example as object), mood: 'good' });
    expect(violations).toEqual([]);
    expect(advice).toEqual([expect.objectContaining({ rule_id: 'AA1', path: 'mood' })]);
  });
});

test('accepts the example of a failed case', () => {
  expect(judged(caseArtifact, caseFailureExample)).toEqual({ violations: [], advice: [], omitted: 0 });
});

/** Copies of the value, each with one part replaced. */
function* withEachPlace(value: unknown, instead: unknown): Generator {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const replace = (part: unknown): unknown =>
      Array.isArray(value) ? value.with(Number(key), part) : { ...value, [key]: part };
    yield replace(instead);
    for (const changed of withEachPlace(inner, instead)) yield replace(changed);
  }
}

describe('the contract for a run', () => {
  const rows: Row[] = [
    ['a missing version', { schema_version: undefined }, 'AA1 schema_version'],
    ['a version that is not a string', { schema_version: 1 }, 'AA1 schema_version'],
    ['the version of a case', { schema_version: 'case.v1' }, 'AA1 schema_version'],
    ['a cases_path with ..', { cases_path: '../../cases.json' }],
    ['an absolute cases_path', { cases_path: '/cases.json' }, 'AA2 cases_path'],
    ['a cases_path on a drive', { cases_path: 'C:\\cases.json' }, 'AA2 cases_path'],
    ['an out_dir in a home folder', { out_dir: '~/runs' }, 'AA2 out_dir'],
    ['an out_dir that is a URL', { out_dir: 'file:runs' }, 'AA2 out_dir'],
    ['a missing out_dir', { out_dir: undefined }, 'AA2 out_dir'],
    ['the current folder as out_dir', { out_dir: '.' }],
    ['an empty run_id', { run_id: '' }, 'AA5 run_id'],
    ['a run_id with a slash', { run_id: 'a/b' }, 'AA5 run_id'],
    ['a run_id of ..', { run_id: '..' }, 'AA5 run_id'],
    ['a numeric generated_at', { generated_at: 1_767_700_800_000 }, 'AA5 generated_at'],
    ['a generated_at that does not exist', { generated_at: '2026-02-30T12:00:00Z' }, 'AA5 generated_at'],
    ['a generated_at without a fraction', { generated_at: '2026-01-06T12:00:00Z' }],
    ['a null runner_version', { runner_version: null }, 'AA5 runner_version'],
    ['a base_url that is not http', { base_url: 'ftp://agent.example.com' }, 'AA6 base_url'],
    ['a base_url without a scheme', { base_url: 'agent.example.com' }, 'AA6 base_url'],
    ['a base_url with a user name', { base_url: 'http://someone@localhost:8787' }, 'AA6 base_url'],
    ['a target on this machine', { base_url: 'http://127.0.0.1:8787' }],
    ['a case id with a slash', { selected_case_ids: ['a/b'] }, 'AA7 selected_case_ids[0]'],
    ['a case id with ..', { selected_case_ids: ['ok', '../x'] }, 'AA7 selected_case_ids[1]'],
    ['a case id of 101 characters', { selected_case_ids: ['x'.repeat(101)] }, 'AA7 selected_case_ids[0]'],
    ['a case id of 100 characters', { selected_case_ids: ['x'.repeat(100)] }],
    ['a case named like run.json', { selected_case_ids: ['Run'] }, 'AA7 selected_case_ids[0]'],
    ['a case named like a device', { selected_case_ids: ['nul.1'] }, 'AA7 selected_case_ids[0]'],
    ['a duplicate case id', { selected_case_ids: ['a', 'b', 'a'] }, 'AA7 selected_case_ids[2]'],
    ['an empty selection', { selected_case_ids: [] }],
    ['a null setting', { repo_commit: null }, 'AA8 repo_commit'],
    ['a negative timeout', { timeout_ms: -1 }, 'AA8 timeout_ms'],
    ['a fractional number of retries', { retries: 1.5 }, 'AA8 retries'],
    ['an unknown backoff', { retry_policy: { backoff: 'linear' } }, 'AA8 retry_policy.backoff'],
    ['retries on a subset of a class', { retry_policy: { classes: ['http_5xx'] } }],
    ['a limit that is not a number', { limits: { max_body_bytes: '2 MB' } }, 'AA8 limits.max_body_bytes'],
    [
      'more ended cases than cases',
      { stats: { cases_total: 1, cases_completed: 1, cases_failed: 1 } },
      'AA9 stats.cases_total',
    ],
    ['cases that did not end', { stats: { cases_total: 3, cases_completed: 1 } }],
    ['stats that are not an object', { stats: [] }, 'AA9 stats'],
  ];
  testRows(runArtifact, runArtifact.example, rows);

  test('accepts a run without the recommended keys', () => {
    const {
      schema_version,
      run_id,
      version,
      generated_at,
      base_url,
      cases_path,
      out_dir,
      selected_case_ids,
      runner_version,
    } = runArtifact.example as Record<string, unknown>;
    const minimal = {
      schema_version,
      run_id,
      version,
      generated_at,
      base_url,
      cases_path,
      out_dir,
      selected_case_ids,
      runner_version,
    };
    expect(judged(runArtifact, minimal)).toEqual({ violations: [], advice: [], omitted: 0 });
  });

  test('never repeats a password from base_url', () => {
    const { violations } = judged(runArtifact, {
      ...(runArtifact.example as object),
      base_url: 'https://qa:hunter2@host',
    });
    expect(JSON.stringify(violations)).not.toContain('hunter2');
  });
});

describe('the contract for the metadata of a saved body', () => {
  const rows: Row[] = [
    ['a truncated body that is not marked', { truncated: false }, 'AA3 truncated'],
    ['a truncated body without truncated', { truncated: undefined }, 'AA3 truncated'],
    ['a complete body marked as truncated', { bytes_total: 2_000_000 }, 'AA3 truncated'],
    ['a truncated body without bytes_written', { bytes_written: undefined }, 'AA3 bytes_written'],
    ['a fractional number of bytes', { bytes_written: 0.5 }, 'AA3 bytes_written'],
    ['an unknown body length', { bytes_total: null }],
    ['an unknown class', { class: 'http_5xx' }, 'AA4 class'],
    ['a null side', { version: null }, 'AA10 version'],
    ['an unknown body type', { content_type: null, encoding: null }],
    ['headers that are not an object', { headers: [] }, 'AA18 headers'],
    ['a null note', { note: null }, 'AA18 note'],
    ['a digest without a prefix', { sha256: HEX }],
    ['a digest of another algorithm', { sha256: `sha512:${HEX}` }, 'AA20 sha256'],
  ];
  testRows(failureMeta, failureMeta.example, rows);

  test('advises adding every missing recommended key', () => {
    const { violations, advice } = judged(failureMeta, { schema_version: 'failure-meta.v1' });
    expect(violations).toEqual([]);
    expect(advice.map(({ path }) => path)).toEqual([
      'bytes_total',
      'bytes_written',
      'case_id',
      'class',
      'content_type',
      'encoding',
      'truncated',
      'version',
    ]);
  });

  test('advises masking a cookie, and does not repeat its value', () => {
    const { advice } = judged(failureMeta, {
      ...(failureMeta.example as object),
      headers: { 'Set-Cookie': 'sid=hunter2' },
    });
    expect(advice.map(({ path }) => path)).toEqual(['headers.Set-Cookie']);
    expect(JSON.stringify(advice)).not.toContain('hunter2');
  });
});

describe('the contract for an assets manifest', () => {
  const [body, meta] = (assetsManifest.example as { items: object[] }).items;
  const items = (change: object) => ({ items: [body, { ...meta, ...change }] });
  const rows: Row[] = [
    ['a malformed generated_at', { generated_at: 'now' }, 'AA19 generated_at'],
    ['missing items', { items: undefined }, 'AA19 items'],
    ['an empty list', { items: [] }],
    ['a duplicate asset_id', items({ asset_id: 'body_refund-large_new' }), 'AA19 items[1].asset_id'],
    ['a duplicate href', items({ href: 'assets/full_body_refund-large_new.html' }), 'AA19 items[1].href'],
    ['a fractional size', items({ size_bytes: 1.5 }), 'AA19 items[1].size_bytes'],
    ['an unknown kind', items({ kind: 'screenshot' }), 'AA19 items[1].kind'],
    ['an absolute href', items({ href: '/var/log/syslog' }), 'AA2 items[1].href'],
    ['an href with a scheme', items({ href: 'javascript:alert(1)' }), 'AA2 items[1].href'],
    ['a missing side', items({ side: undefined }), 'AA10 items[1].side'],
    ['an empty case id', items({ case_id: '' }), 'AA10 items[1].case_id'],
    ['a null digest', items({ sha256: null }), 'AA20 items[1].sha256'],
  ];
  testRows(assetsManifest, assetsManifest.example, rows);

  test('advises against an href outside assets/', () => {
    expect(adviceOn(assetsManifest, { ...(assetsManifest.example as object), ...items({ href: 'x.json' }) })).toEqual([
      'AA2 items[1].href',
    ]);
  });

  test('claims every file with its size, and its digest if present', () => {
    expect(claimsOf(assetsManifest, assetsManifest.example).slice(1)).toEqual([
      expect.objectContaining({
        file: 'assets/full_body_refund-large_new.meta.json',
        bytes: 512,
        sha256: expect.stringMatching(/^sha256:/),
      }),
      { at: 'items[2].href', file: 'assets/cases.json', bytes: 1_874 },
    ]);
  });
});

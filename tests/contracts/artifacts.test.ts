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
  test('the example keeps every rule and needs no advice', () => {
    expect(judged(contract, contract.example)).toEqual({ violations: [], advice: [], omitted: 0 });
  });

  test.each(contract.rules.map(rule => [rule.id, rule] as const))(
    'the breach of %s breaks that rule alone',
    (id, rule) => {
      const { violations, advice } = judged(contract, rule.breach(contract.example as never));
      expect([...new Set(violations.map(({ rule_id }) => rule_id))]).toEqual([id]);
      expect(advice).toEqual([]);
    },
  );

  test('no two rules share an id or own the same key', () => {
    const ids = contract.rules.map(({ id }) => id);
    const fields = contract.rules.flatMap(rule => rule.fields);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(fields).size).toBe(fields.length);
  });

  test('an empty document lacks keys, and each lack belongs to a rule', () => {
    const { violations } = judged(contract, {});
    expect(violations[0]).toEqual({
      rule_id: 'AA1',
      path: 'schema_version',
      message: 'schema_version is missing.',
    });
  });

  test('whatever stands at whatever place, a rule owns it and no message repeats it', () => {
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

  test('a key that v1 does not have is advice', () => {
    const { violations, advice } = judged(contract, { ...(contract.example as object), mood: 'good' });
    expect(violations).toEqual([]);
    expect(advice).toEqual([expect.objectContaining({ rule_id: 'AA1', path: 'mood' })]);
  });
});

test('a case that failed keeps every rule too', () => {
  expect(judged(caseArtifact, caseFailureExample)).toEqual({ violations: [], advice: [], omitted: 0 });
});

/** The value once for each place in it, with something else there. */
function* withEachPlace(value: unknown, instead: unknown): Generator {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const replace = (part: unknown): unknown =>
      Array.isArray(value) ? value.with(Number(key), part) : { ...value, [key]: part };
    yield replace(instead);
    for (const changed of withEachPlace(inner, instead)) yield replace(changed);
  }
}

describe('a run', () => {
  const rows: Row[] = [
    ['has a version', { schema_version: undefined }, 'AA1 schema_version'],
    ['has a version that is text', { schema_version: 1 }, 'AA1 schema_version'],
    ['must not be a case', { schema_version: 'case.v1' }, 'AA1 schema_version'],
    ['may have a cases_path that climbs', { cases_path: '../../cases.json' }],
    ['has no cases_path that is absolute', { cases_path: '/cases.json' }, 'AA2 cases_path'],
    ['has no cases_path on a drive', { cases_path: 'C:\\cases.json' }, 'AA2 cases_path'],
    ['has no out_dir in a home folder', { out_dir: '~/runs' }, 'AA2 out_dir'],
    ['has no out_dir that is a URL', { out_dir: 'file:runs' }, 'AA2 out_dir'],
    ['has an out_dir', { out_dir: undefined }, 'AA2 out_dir'],
    ['may be written to the current folder', { out_dir: '.' }],
    ['has a run_id', { run_id: '' }, 'AA5 run_id'],
    ['has a run_id that is one folder', { run_id: 'a/b' }, 'AA5 run_id'],
    ['has a run_id that does not climb', { run_id: '..' }, 'AA5 run_id'],
    ['has a moment in ISO form', { generated_at: 1_767_700_800_000 }, 'AA5 generated_at'],
    ['has a moment that exists', { generated_at: '2026-02-30T12:00:00Z' }, 'AA5 generated_at'],
    ['may leave out the fraction of a second', { generated_at: '2026-01-06T12:00:00Z' }],
    ['has a runner_version', { runner_version: null }, 'AA5 runner_version'],
    ['has a base_url that is http', { base_url: 'ftp://agent.example.com' }, 'AA6 base_url'],
    ['has a base_url that is a URL', { base_url: 'agent.example.com' }, 'AA6 base_url'],
    ['has a base_url without a user', { base_url: 'http://someone@localhost:8787' }, 'AA6 base_url'],
    ['may have a target on this machine', { base_url: 'http://127.0.0.1:8787' }],
    ['has case ids without slashes', { selected_case_ids: ['a/b'] }, 'AA7 selected_case_ids[0]'],
    ['has case ids that do not climb', { selected_case_ids: ['ok', '../x'] }, 'AA7 selected_case_ids[1]'],
    ['has case ids of at most 100 characters', { selected_case_ids: ['x'.repeat(101)] }, 'AA7 selected_case_ids[0]'],
    ['may have a case id of 100 characters', { selected_case_ids: ['x'.repeat(100)] }],
    ['has no case named like run.json', { selected_case_ids: ['Run'] }, 'AA7 selected_case_ids[0]'],
    ['has no case named like a device', { selected_case_ids: ['nul.1'] }, 'AA7 selected_case_ids[0]'],
    ['has every case once', { selected_case_ids: ['a', 'b', 'a'] }, 'AA7 selected_case_ids[2]'],
    ['may select nothing', { selected_case_ids: [] }],
    ['has no null for a setting', { repo_commit: null }, 'AA8 repo_commit'],
    ['has no negative timeout', { timeout_ms: -1 }, 'AA8 timeout_ms'],
    ['has whole retries', { retries: 1.5 }, 'AA8 retries'],
    ['knows one way to back off', { retry_policy: { backoff: 'linear' } }, 'AA8 retry_policy.backoff'],
    ['may retry on a part of a class', { retry_policy: { classes: ['http_5xx'] } }],
    ['has limits that are numbers', { limits: { max_body_bytes: '2 MB' } }, 'AA8 limits.max_body_bytes'],
    [
      'has no more endings than cases',
      { stats: { cases_total: 1, cases_completed: 1, cases_failed: 1 } },
      'AA9 stats.cases_total',
    ],
    ['may have cases that did not end', { stats: { cases_total: 3, cases_completed: 1 } }],
    ['has stats that are an object', { stats: [] }, 'AA9 stats'],
  ];
  testRows(runArtifact, runArtifact.example, rows);

  test('needs none of the recommended keys', () => {
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

  test('never repeats a password that stands in its address', () => {
    const { violations } = judged(runArtifact, {
      ...(runArtifact.example as object),
      base_url: 'https://qa:hunter2@host',
    });
    expect(JSON.stringify(violations)).not.toContain('hunter2');
  });
});

describe('metadata of a failure', () => {
  const rows: Row[] = [
    ['says that a body was cut', { truncated: false }, 'AA3 truncated'],
    ['does not forget that a body was cut', { truncated: undefined }, 'AA3 truncated'],
    ['does not call a whole body cut', { bytes_total: 2_000_000 }, 'AA3 truncated'],
    ['says how much of a cut body is left', { bytes_written: undefined }, 'AA3 bytes_written'],
    ['counts whole bytes', { bytes_written: 0.5 }, 'AA3 bytes_written'],
    ['may not know how long the body was', { bytes_total: null }],
    ['has a stable class', { class: 'http_5xx' }, 'AA4 class'],
    ['is of one side', { version: null }, 'AA10 version'],
    ['may not know the type of the body', { content_type: null, encoding: null }],
    ['has headers that are an object', { headers: [] }, 'AA18 headers'],
    ['has no null for a note', { note: null }, 'AA18 note'],
    ['may have a digest without prefix', { sha256: HEX }],
    ['has no digest of another kind', { sha256: `sha512:${HEX}` }, 'AA20 sha256'],
  ];
  testRows(failureMeta, failureMeta.example, rows);

  test('is advised about every key that is recommended and absent', () => {
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

  test('is advised about a cookie that was kept, and does not repeat it', () => {
    const { advice } = judged(failureMeta, {
      ...(failureMeta.example as object),
      headers: { 'Set-Cookie': 'sid=hunter2' },
    });
    expect(advice.map(({ path }) => path)).toEqual(['headers.Set-Cookie']);
    expect(JSON.stringify(advice)).not.toContain('hunter2');
  });
});

describe('a list of assets', () => {
  const [body, meta] = (assetsManifest.example as { items: object[] }).items;
  const items = (change: object) => ({ items: [body, { ...meta, ...change }] });
  const rows: Row[] = [
    ['has a moment', { generated_at: 'now' }, 'AA19 generated_at'],
    ['has items', { items: undefined }, 'AA19 items'],
    ['may be empty', { items: [] }],
    ['has every asset_id once', items({ asset_id: 'body_refund-large_new' }), 'AA19 items[1].asset_id'],
    ['has every href once', items({ href: 'assets/full_body_refund-large_new.html' }), 'AA19 items[1].href'],
    ['has sizes in whole bytes', items({ size_bytes: 1.5 }), 'AA19 items[1].size_bytes'],
    ['has known kinds', items({ kind: 'screenshot' }), 'AA19 items[1].kind'],
    ['has relative hrefs', items({ href: '/var/log/syslog' }), 'AA2 items[1].href'],
    ['has hrefs without a scheme', items({ href: 'javascript:alert(1)' }), 'AA2 items[1].href'],
    ['says null where an asset has no side', items({ side: undefined }), 'AA10 items[1].side'],
    ['says null where an asset has no case', items({ case_id: '' }), 'AA10 items[1].case_id'],
    ['has no null for a digest', items({ sha256: null }), 'AA20 items[1].sha256'],
  ];
  testRows(assetsManifest, assetsManifest.example, rows);

  test('is advised about an href that does not begin with assets/', () => {
    expect(adviceOn(assetsManifest, { ...(assetsManifest.example as object), ...items({ href: 'x.json' }) })).toEqual([
      'AA2 items[1].href',
    ]);
  });

  test('claims every file with its size, and its digest if it has one', () => {
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

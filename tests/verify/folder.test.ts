import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash, contentHash } from '../../src/base/hash.ts';
import { caseFailureExample, runArtifact } from '../../src/contracts/artifacts/index.ts';
import { policySummary, runnerMetadata, stepManifest } from '../../src/contracts/agent-step/index.ts';
import { type Bundle, bundle, bundleIdOf } from '../../src/contracts/intent/index.ts';
import { builtInProfiles } from '../../src/contracts/profile/index.ts';
import { runResult } from '../../src/contracts/run-result/index.ts';
import { runner } from '../../src/contracts/runner/index.ts';
import { scriptResult } from '../../src/contracts/script-result/index.ts';
import { type Verdict, verify } from '../../src/verify/index.ts';
import { folderRules } from '../../src/verify/folder-rules.ts';
import { exampleWith, temporaryFolder } from '../support/support.ts';
import { brokenIn, type Files, folderWith, verdictsOf } from './folders.ts';

const PAYLOAD = '{"rows":[1,2,3]}';
const BODY = '<h1>503</h1>';

/** A complete suite run: one answered case, one failed case, their assets and the asset manifest. */
function suite(changes: Files = {}): Files {
  const run = exampleWith(runArtifact, {
    selected_case_ids: ['answered', 'failed'],
    version: 'new',
    stats: undefined,
  }) as object;
  const answered = {
    schema_version: 'case.v1',
    case_id: 'answered',
    version: 'new',
    status: 'ok',
    proposed_actions: [
      {
        action_id: 'a1',
        action_type: 'refund',
        tool_name: 'refund',
        params: { path: '/home/someone/of/the/program' },
        risk_level: 'low',
        risk_tags: [],
        evidence_refs: [
          { kind: 'tool_result', call_id: 'c1' },
          { kind: 'asset', id: 'assets/payload.json' },
          { kind: 'asset', id: 'the-payload' },
        ],
      },
    ],
    events: [
      { type: 'tool_call', ts: 1, call_id: 'c1', tool: 't', args: {} },
      {
        type: 'tool_result',
        ts: 2,
        call_id: 'c1',
        status: 'ok',
        latency_ms: 3,
        payload_asset_href: 'assets/payload.json',
        payload_asset_sha256: bytesHash(PAYLOAD),
      },
    ],
    final_output: { content_type: 'text', content: 'done' },
  };
  const failed = {
    schema_version: 'case.v1',
    case_id: 'failed',
    version: 'new',
    status: 'runner_error',
    runner_failure: {
      ...caseFailureExample.runner_failure,
      attempt: 1,
      body_snippet: BODY,
      full_body_saved_to: 'assets/body.html',
      full_body_meta_saved_to: null,
    },
  };
  const item = { kind: 'other', case_id: null, side: null };
  const manifest = {
    schema_version: 'assets-manifest.v1',
    generated_at: '2026-01-06T12:00:09+01:00',
    items: [
      {
        ...item,
        asset_id: 'the-payload',
        href: 'assets/payload.json',
        size_bytes: PAYLOAD.length,
        sha256: bytesHash(PAYLOAD).slice(7),
      },
      { ...item, asset_id: 'the-body', href: 'assets/body.html', size_bytes: BODY.length },
    ],
  };
  return {
    'run.json': run,
    'answered.json': answered,
    'failed.json': failed,
    'assets/payload.json': PAYLOAD,
    'assets/body.html': BODY,
    'assets/manifest.json': manifest,
    ...changes,
  };
}

describe('a suite folder', () => {
  test('that is complete is valid, and every document is judged', async () => {
    const verdicts = await verdictsOf(folderWith(suite()));
    expect(verdicts.at(-1)).toMatchObject({
      outcome: 'valid',
      violations: [],
      documents: { outcomes: { valid: 4 }, contracts: { run: 1, case: 2, 'assets-manifest': 1 }, advised: 0 },
    });
    expect(verdicts).toHaveLength(5);
  });

  test('is still valid after it was copied', async () => {
    const copy = path.join(temporaryFolder(), 'elsewhere');
    cpSync(folderWith(suite()), copy, { recursive: true });
    expect(await brokenIn(copy)).toEqual([]);
  });

  const files = suite();
  const at = (name: string) => files[name] as Record<string, unknown>;
  const breaches: [string, Files, string[]][] = [
    [
      'a missing asset',
      { ...files, 'assets/body.html': undefined as never },
      ['FD2 assets/manifest.json#items[1].href', 'FD2 failed.json#runner_failure.full_body_saved_to'],
    ],
    [
      'a changed asset',
      suite({ 'assets/payload.json': '{"rows":[1,2,4]}' }),
      ['FD3 answered.json#events[1].payload_asset_href', 'FD3 assets/manifest.json#items[0].href'],
    ],
    ['an asset that grew', suite({ 'assets/body.html': `${BODY} ` }), ['FD3 assets/manifest.json#items[1].href']],
    ['an asset that is not listed', suite({ 'assets/extra.bin': 'x' }), ['FD4 assets/extra.bin']],
    [
      'an asset id that is not listed',
      suite({
        'assets/manifest.json': {
          ...at('assets/manifest.json'),
          items: [
            { ...(at('assets/manifest.json')['items'] as object[])[0], asset_id: 'other' },
            (at('assets/manifest.json')['items'] as object[])[1],
          ],
        },
      }),
      ['FD2 answered.json#proposed_actions[0].evidence_refs[2].id'],
    ],
    [
      'a host path',
      suite({ 'run.json': { ...at('run.json'), runner_version: '1.0.0 from /home/someone/proctor' } }),
      ['FD5 run.json#runner_version'],
    ],
    [
      'a case in the file of another case',
      { ...suite(), 'failed.json': undefined as never, 'renamed.json': at('failed.json') },
      ['FD6 renamed.json#case_id'],
    ],
    [
      'a case of the other side',
      suite({ 'failed.json': { ...at('failed.json'), version: 'baseline' } }),
      ['FD6 failed.json#version'],
    ],
    [
      'a selected case without a file',
      suite({ 'run.json': { ...at('run.json'), selected_case_ids: ['answered', 'failed', 'lost'] } }),
      ['FD7 run.json#selected_case_ids[2]'],
    ],
    [
      'a case that was not selected',
      suite({ 'run.json': { ...at('run.json'), selected_case_ids: ['answered'] } }),
      ['FD7 failed.json#case_id'],
    ],
  ];
  test.each(breaches)('with %s is invalid', async (_, changed, broken) => {
    const present = Object.fromEntries(Object.entries(changed).filter(([, content]) => content !== undefined));
    expect(await brokenIn(folderWith(present))).toEqual(broken);
  });

  test('is tested against every folder rule, except those for run folders', async () => {
    const tested = new Set([
      ...breaches.flatMap(([, , broken]) => broken.map(line => line.split(' ')[0] ?? '')),
      'FD1',
    ]);
    const elsewhere = new Set([
      'FD8',
      'FD9',
      'FD10',
      'FD11',
      'FD12',
      'FD13',
      'FD14',
      'JS6',
      'JS7',
      'JS8',
      'JS9',
      'EX5',
      'EX6',
      'SL5',
      'SL6',
      'SL7',
      'SL8',
      'SL9',
      'SL10',
      'LD8',
      'LD9',
      'PT2',
      'PT3',
      'PT4',
      'PT5',
      'PT6',
      'WO6',
      'WO7',
      'WO8',
    ]);
    expect([...tested].sort()).toEqual(folderRules.map(({ id }) => id).filter(id => !elsewhere.has(id)));
  });
});

describe('documents that violate their contract', () => {
  const files = suite();

  test('do not count as missing', async () => {
    const verdicts = await verdictsOf(
      folderWith({ ...files, 'failed.json': { ...(files['failed.json'] as object), status: 'maybe' } }),
    );
    expect(verdicts.flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id))).toEqual(['AA11']);
  });

  test('are detected even with an unknown version, or without one', async () => {
    for (const version of ['run.v9', undefined]) {
      const verdicts = await verdictsOf(
        folderWith({
          ...files,
          'run.json': JSON.stringify({ ...(files['run.json'] as object), schema_version: version }),
        }),
      );
      expect(verdicts.at(-1)?.outcome).toBe('refused');
    }
    const manifest = JSON.stringify({ ...(files['assets/manifest.json'] as object), schema_version: undefined });
    expect((await verdictsOf(folderWith({ ...files, 'assets/manifest.json': manifest }))).at(-1)?.outcome).toBe(
      'refused',
    );
  });

  test('cause no further violations if the manifest is one of them', async () => {
    const broken = { ...(files['assets/manifest.json'] as object), generated_at: 'noon' };
    const verdicts = await verdictsOf(folderWith({ ...files, 'assets/manifest.json': broken }));
    expect(verdicts.flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id))).toEqual(['AA19']);
  });
});

describe('failure metadata', () => {
  const meta = {
    schema_version: 'failure-meta.v1',
    case_id: 'failed',
    version: 'new',
    class: caseFailureExample.runner_failure?.class,
    content_type: 'text/html',
    encoding: 'utf-8',
    bytes_written: BODY.length,
    bytes_total: BODY.length,
    truncated: false,
    sha256: bytesHash(BODY),
  };
  const withMeta = (change: object): Files => {
    const { 'assets/manifest.json': _, ...files } = suite();
    const failed = files['failed.json'] as { runner_failure: object };
    const answered = files['answered.json'] as { proposed_actions: { evidence_refs: object[] }[] };
    answered.proposed_actions[0]?.evidence_refs.pop();
    return {
      ...files,
      'failed.json': {
        ...failed,
        runner_failure: { ...failed.runner_failure, full_body_meta_saved_to: 'assets/body.meta.json' },
      },
      'assets/body.meta.json': { ...meta, ...change },
    };
  };
  test.each([
    ['that matches is valid', {}, []],
    ['of another case is rejected', { case_id: 'answered' }, ['FD6 assets/body.meta.json#case_id']],
    ['of the other side is rejected', { version: 'baseline' }, ['FD6 assets/body.meta.json#version']],
    ['of another class is rejected', { class: 'other' }, ['FD6 assets/body.meta.json#class']],
    [
      'with another size is rejected',
      { bytes_written: 3, bytes_total: 3 },
      ['FD3 assets/body.meta.json#bytes_written'],
    ],
    ['with another hash is rejected', { sha256: bytesHash('other') }, ['FD3 assets/body.meta.json#sha256']],
  ])('%s', async (_, change, broken) => {
    expect(await brokenIn(folderWith(withMeta(change)))).toEqual(broken);
  });
});

test('unreadable evidence does not count as evidence', async () => {
  const files = suite();
  expect(await brokenIn(folderWith({ ...files, 'failed.json': { hello: 1 } }))).toEqual([
    'FD7 run.json#selected_case_ids[1]',
  ]);
  const { 'assets/manifest.json': _, ...loose } = files;
  const failed = loose['failed.json'] as { runner_failure: object };
  const answered = structuredClone(loose['answered.json']) as { proposed_actions: { evidence_refs: object[] }[] };
  answered.proposed_actions[0]?.evidence_refs.pop();
  for (const meta of ['{"schema_version":"failure-meta.v9"}', '{"a":1}', '{"a":1,"a":2}', 'junk']) {
    const folder = folderWith({
      ...loose,
      'answered.json': answered,
      'failed.json': {
        ...failed,
        runner_failure: { ...failed.runner_failure, full_body_meta_saved_to: 'assets/m.json' },
      },
      'assets/m.json': meta,
    });
    expect(await brokenIn(folder), meta).toEqual(['FD6 failed.json#runner_failure.full_body_meta_saved_to']);
  }
});

test('a suite needs exactly one run.json, and a step needs its manifest', async () => {
  const { 'run.json': run, ...rest } = suite();
  expect(await brokenIn(folderWith(rest))).toEqual(['FD7 answered.json']);
  expect(
    await brokenIn(
      folderWith({ ...rest, 'run.json': run as object, 'other.json': { ...(run as object), selected_case_ids: [] } }),
    ),
  ).toEqual(['FD6 other.json#schema_version']);
  expect(await brokenIn(folderWith({ ...suite(), 'evidence/steps/one/transcript.ndjson.txt': 'x' }))).toEqual([
    'FD4 evidence/steps/one/transcript.ndjson.txt',
  ]);
  expect((await verdictsOf(folderWith({ ...suite(), 'evidence/events.ndjson': '' }))).at(-1)?.outcome).toBe('refused');
});

// Reading every file again for each case would take hours.
test('judges a folder with thousands of cases and manifests in linear time', async () => {
  const files = suite();
  const template = files['answered.json'] as object;
  const ids = Array.from({ length: 2_000 }, (_, index) => `case-${index}`);
  for (const id of ids) {
    files[`${id}.json`] = { ...template, case_id: id };
    files[`assets/${id}.manifest.json`] = { ...(files['assets/manifest.json'] as object), items: [] };
  }
  files['run.json'] = { ...(files['run.json'] as object), selected_case_ids: ['answered', 'failed', ...ids] };
  expect((await verdictsOf(folderWith(files))).length).toBeGreaterThan(4_000);
});

test('judges part of a run by its content, and counts references to files outside it', async () => {
  const verdicts = await verdictsOf(path.join(folderWith(suite()), 'assets'));
  expect(verdicts.at(-1)).toMatchObject({ outcome: 'valid', violations: [] });
  expect(verdicts.at(-1)?.not_checked.join()).toContain('2 references to files outside this folder');
});

describe('an entry that is neither a file nor a folder', () => {
  test('is a violation and is never followed', async () => {
    const folder = folderWith(suite());
    mkdirSync(path.join(folder, 'sub'));
    symlinkSync('..', path.join(folder, 'sub', 'loop'));
    symlinkSync('/etc/passwd', path.join(folder, 'passwd.json'));
    execFileSync('mkfifo', [path.join(folder, 'pipe.json')]);
    expect(await brokenIn(folder)).toEqual(['FD1 passwd.json', 'FD1 pipe.json', 'FD1 sub/loop']);
  });

  test('does not count as evidence', async () => {
    const folder = folderWith(suite());
    rmSync(path.join(folder, 'assets', 'body.html'));
    writeFileSync(path.join(folder, 'elsewhere.html'), BODY);
    symlinkSync('../elsewhere.html', path.join(folder, 'assets', 'body.html'));
    expect(await brokenIn(folder)).toContain('FD2 failed.json#runner_failure.full_body_saved_to');
  });
});

describe('an agent step', () => {
  const transcript = '{"line":1}\n';
  const metadata = canonicalize(runnerMetadata.example);
  const policy = canonicalize(policySummary.example);
  const artifact = (role: string, file: string, content: string) => ({
    role,
    path: `evidence/steps/implement/${file}`,
    media_type: 'text/plain',
    required: true,
    sha256: bytesHash(content),
    size_bytes: Buffer.byteLength(content),
  });
  const files: Files = {
    'evidence/steps/implement/transcript.txt': transcript,
    'evidence/steps/implement/final_response.txt': 'done',
    'evidence/steps/implement/runner_metadata.json': metadata,
    'evidence/steps/implement/policy_summary.json': policy,
    'workspace.diff': '',
    'evidence/steps/implement/manifest.json': {
      ...(stepManifest.example as object),
      evidence_summary: { references: [], notes: [] },
      artifacts: [
        artifact('runner_transcript', 'transcript.txt', transcript),
        artifact('runner_final_response', 'final_response.txt', 'done'),
        artifact('runner_metadata', 'runner_metadata.json', metadata),
        artifact('policy_summary', 'policy_summary.json', policy),
        { ...artifact('workspace_diff', '', ''), path: 'workspace.diff' },
      ],
    },
  };

  test('is valid if its manifest lists every file with its digest', async () => {
    expect(await brokenIn(folderWith(files))).toEqual([]);
  });

  test('is invalid if one byte of its transcript was changed', async () => {
    const folder = folderWith({ ...files, 'evidence/steps/implement/transcript.txt': '{"line":2}\n' });
    expect(await brokenIn(folder)).toEqual(['FD3 evidence/steps/implement/manifest.json#artifacts[0]']);
  });

  test('is invalid with a file that its manifest does not list', async () => {
    expect(await brokenIn(folderWith({ ...files, 'evidence/steps/implement/.tmp': 'x' }))).toEqual([
      'FD4 evidence/steps/implement/.tmp',
    ]);
  });
});

describe('other folders', () => {
  test('of a script are valid without the artifacts that the result lists', async () => {
    const verdicts = await verdictsOf(
      folderWith({ 'result.json': scriptResult.example as object, 'output/other.json': '{"not":"ours' }),
    );
    expect(verdicts.at(-1)).toMatchObject({
      outcome: 'valid',
      violations: [],
      advice: [{ rule_id: 'FD2', path: 'result.json#artifacts[0]' }],
    });
  });

  test('of an intent must have outputs, a bundle and a policy that match the result', async () => {
    const plan = bundle.example as Bundle;
    const other = { ...plan, network: true };
    const own = { ...builtInProfiles.default, name: 'mine', timeout_ms: 90_000 };
    const result = exampleWith(runResult, {
      policy: own,
      'bundle.sha256': contentHash(plan),
      'execution.outputs': [{ path: 'out/report.md', sha256: bytesHash('hello'), size_bytes: 5 }],
      'execution.total_output_bytes': 5,
    }) as object;
    const whole = { 'run.json': result, 'bundle.json': plan, 'policy.json': own, 'output/out/report.md': 'hello' };
    expect((await verdictsOf(folderWith(whole))).at(-1)).toMatchObject({ outcome: 'valid', violations: [] });
    expect(await brokenIn(folderWith({ ...whole, 'bundle.json': { ...other, bundle_id: bundleIdOf(other) } }))).toEqual(
      ['FD3 run.json#bundle.sha256'],
    );
    expect(await brokenIn(folderWith({ ...whole, 'output/out/report.md': 'hullo' }))).toEqual([
      'FD3 run.json#execution.outputs[0]',
    ]);
    const verdicts = await verdictsOf(folderWith({ ...whole, 'policy.json': { ...own, timeout_ms: 80_000 } }));
    expect(verdicts.flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id))).toEqual(['RS5']);
  });

  test('with two records of one runner_id are invalid: the second violates RN2', async () => {
    const verdicts = await verdictsOf(
      folderWith({ 'a/runner.json': runner.example as object, 'b/runner.json': runner.example as object }),
    );
    expect(verdicts.map(({ outcome, violations }) => [outcome, violations.map(({ rule_id }) => rule_id)])).toEqual([
      ['valid', []],
      ['invalid', ['RN2']],
      ['invalid', []],
    ]);
  });

  test('without known documents are refused', async () => {
    expect(await verdictsOf(folderWith({ 'package.json': { name: 'x' } }))).toMatchObject([
      { outcome: 'refused', reason: { code: 'unknown_format' } },
    ]);
    expect(await verdictsOf(temporaryFolder())).toMatchObject([{ outcome: 'refused' }]);
  });

  test('with a truncated document next to a valid one are refused', async () => {
    const verdicts = await verdictsOf(
      folderWith({ 'runner.json': runner.example as object, 'torn.json': '{"runner_schema' }),
    );
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['valid', 'refused', 'refused']);
  });

  test('with unjudged files get a list of them, and are invalid in strict mode', async () => {
    const folder = folderWith({
      'runner.json': runner.example as object,
      'package.json': { name: 'x' },
      'notes.txt': 'x',
    });
    const said = (await verdictsOf(folder)).at(-1)?.not_checked.join('; ');
    expect(said).toContain('1 file of unknown format: package.json');
    expect(said).toContain('1 file that no document refers to: notes.txt');
    const verdicts: Verdict[] = [];
    for await (const verdict of verify(folder, { strict: true })) verdicts.push(verdict);
    expect(verdicts.map(({ input, outcome }) => `${path.basename(input)} ${outcome}`)).toContain(
      'package.json refused',
    );
    expect(verdicts.at(-1)?.outcome).toBe('refused');
  });
});

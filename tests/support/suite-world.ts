import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash, contentHash } from '../../src/base/hash.ts';
import type { CaseArtifact, RunArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Signer } from '../../src/contracts/seal/index.ts';
import { type SuiteCase, type SuiteRequest, type SuiteTarget, targetName } from '../../src/contracts/suite/index.ts';
import { finish } from '../../src/evidence/run-folder/finish.ts';
import { storedFiles } from '../../src/evidence/run-folder/sealed-files.ts';

export interface WorldCase {
  readonly id: string;
  readonly title?: string;
  readonly user?: string;
  readonly expected?: SuiteCase['expected'];
  /** Overrides for the artifact; null for a case without one. */
  readonly artifact?: Partial<CaseArtifact> | null;
}

export interface WorldSuite {
  readonly version?: 'baseline' | 'new';
  readonly runId?: string;
  readonly repetition?: { readonly of: string; readonly number: number; readonly total: number };
  readonly target?: SuiteTarget;
  readonly gate?: SuiteRequest['gate'];
  /** Overrides for run.json and request.json. */
  readonly run?: Partial<RunArtifact>;
  readonly request?: Partial<SuiteRequest>;
  readonly cases: readonly WorldCase[];
  readonly signer?: Signer | undefined;
}

/** Writes a small, sealed suite run below `root` without the runner, and returns its folder. */
export async function suiteFolder(root: string, suite: WorldSuite): Promise<string> {
  const { version = 'baseline', cases } = suite;
  const runId =
    suite.runId ?? `suite_20260106_120000_${createHash('sha256').update(version).digest('hex').slice(0, 12)}`;
  const folder = path.join(root, version, runId);
  mkdirSync(path.join(folder, 'assets'), { recursive: true });
  const lines = cases.map(({ id, title, user = `What about ${id}?`, expected }) => {
    const line: SuiteCase = {
      schema_version: 'suite-case.v1',
      id,
      input: { user },
      ...(title !== undefined && { title }),
      ...(expected && { expected }),
    };
    return `${canonicalize(line)}\n`;
  });
  const sent = lines.join('');
  writeFileSync(path.join(folder, 'assets', 'cases.ndjson'), sent);
  for (const one of cases) {
    if (one.artifact !== null) {
      const bytes = canonicalize(artifactOf(one.id, version, one.artifact ?? {}));
      writeFileSync(path.join(folder, `${one.id}.json`), bytes);
    }
  }
  const target = suite.target ?? httpTarget(version);
  await finish(folder, {
    runId,
    kind: 'suite',
    documents: [
      ['run.json', canonicalize({ ...runOf(runId, version, cases, target), ...suite.run })],
      ['assets/manifest.json', canonicalize(manifestOf(sent))],
      ['evidence/request.json', canonicalize({ ...requestOf(runId, suite, target, sent), ...suite.request })],
    ],
    stored: storedFiles([]),
    passing: [],
    sealedAtMs: Date.parse('2026-01-06T12:00:10.000Z'),
    signer: suite.signer,
  });
  return folder;
}

function httpTarget(version: string): SuiteTarget {
  const port = version === 'baseline' ? 8787 : 8788;
  return { kind: 'http', url: `http://127.0.0.1:${port}`, header_names: [], redirects: false };
}

function artifactOf(id: string, version: 'baseline' | 'new', over: Partial<CaseArtifact>): object {
  const answer = {
    proposed_actions: [],
    events: [],
    final_output: { content_type: 'text', content: `The answer to ${id}.` },
  };
  return {
    schema_version: 'case.v1',
    case_id: id,
    version,
    status: 'ok',
    attempts: [{ attempt: 1, started_at: '2026-01-06T12:00:00.000Z', latency_ms: 12, outcome: 'ok' }],
    ...(over.status !== 'runner_error' && answer),
    ...over,
  };
}

function runOf(runId: string, version: string, cases: readonly WorldCase[], target: SuiteTarget): object {
  return {
    schema_version: 'run.v1',
    run_id: runId,
    version,
    generated_at: '2026-01-06T12:00:09.000Z',
    base_url: targetName(target),
    cases_path: 'cases.yaml',
    out_dir: '.proctor/runs',
    selected_case_ids: cases.map(({ id }) => id),
    runner_version: '0.1.0',
  };
}

function manifestOf(sent: string): object {
  return {
    schema_version: 'assets-manifest.v1',
    generated_at: '2026-01-06T12:00:09.000Z',
    items: [
      {
        asset_id: 'cases',
        href: 'assets/cases.ndjson',
        kind: 'other',
        case_id: null,
        side: null,
        size_bytes: Buffer.byteLength(sent),
        sha256: bytesHash(sent),
      },
    ],
  };
}

function requestOf(
  runId: string,
  { version = 'baseline', cases, repetition, gate }: WorldSuite,
  target: SuiteTarget,
  sent: string,
): object {
  return {
    schema_version: 'suite-request.v1',
    run_id: runId,
    kind: 'suite',
    version,
    repetition: repetition ?? { of: runId, number: 1, total: 1 },
    target,
    target_sha256: contentHash(target),
    cases: { sha256: bytesHash(sent), bytes: Buffer.byteLength(sent), count: cases.length },
    only: null,
    settings: {
      timeout_ms: 15_000,
      idle_timeout_ms: 15_000,
      retries: 2,
      concurrency: 4,
      max_body_bytes: 2_000_000,
      max_inline_snippet_bytes: 4_000,
      max_payload_inline_bytes: 65_536,
      breaker_failures: 20,
    },
    secret_names: [],
    ...(gate && { gate }),
  };
}

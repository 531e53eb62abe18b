import { cpSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { stepEvent, metadata, status, stepManifest } from '../../src/contracts/agent-step/index.ts';
import { runner } from '../../src/contracts/runner/index.ts';
import { scriptOutcome } from '../../src/contracts/script-outcome/index.ts';
import { scriptRequest } from '../../src/contracts/script-request/index.ts';
import { scriptResult } from '../../src/contracts/script-result/index.ts';
import { type RunKind, sealEnvelope, sealStatement } from '../../src/contracts/seal/index.ts';
import { folderRules } from '../../src/verify/folder-rules.ts';
import type { Verdict } from '../../src/verify/index.ts';
import { exampleWith, judged, proveJournal, temporaryFolder } from '../support/support.ts';
import { brokenIn, type Files, folderWith, verdictsOf } from './folders.ts';

const RUN = 'script_20260403_101500_4f1c9a7be210';
const text = (content: string | object): string => (typeof content === 'string' ? content : canonicalize(content));
const { environment_hash } = await judged(runner, runner.example);

const result = exampleWith(scriptResult, { artifacts: [{ path: 'output/report.txt', bytes: 5 }] }) as object;

const line = (changes: Record<string, unknown>): string =>
  canonicalize(
    exampleWith(stepEvent, {
      next_step_id: undefined,
      runner_family: undefined,
      run_id: RUN,
      step_id: 'script',
      opcode: 'RUN_VALIDATION',
      artifact_role: 'validation_report',
      artifact_path: 'result.json',
      ...changes,
    }),
  );

function artifact(role: string, file: string, content: string | object): object {
  const bytes = text(content);
  return {
    role,
    path: file,
    media_type: 'text/plain',
    required: true,
    sha256: bytesHash(bytes),
    size_bytes: Buffer.byteLength(bytes),
  };
}

/** The files of a script run, without the seal. */
function unsealed(): Files {
  const stdout = 'hello\n';
  return {
    'result.json': result,
    'output/report.txt': 'hello',
    'output/evidence/steps/x/y.json': '{"not":"ours',
    'output/journal.ndjson': 'not ours either',
    'evidence/request.json': { ...(scriptRequest.example as object), run_id: RUN },
    'evidence/runner.json': runner.example as object,
    'evidence/metadata.json': exampleWith(metadata, {
      run_id: RUN,
      workspace_context: undefined,
      environment_hash,
    }) as object,
    'evidence/status.json': exampleWith(status, {
      run_id: RUN,
      lifecycle_state: 'completed',
      termination: 'completed',
      active_opcode: null,
      active_runner_family: null,
      worktree_path: null,
    }) as object,
    'evidence/events.ndjson': `${line({ event_type: 'step_started', artifact_path: undefined, artifact_role: undefined })}\n${line({})}\n`,
    'evidence/outcome.json': { ...(scriptOutcome.example as object), run_id: RUN },
    'evidence/final-state.txt': 'succeeded\n',
    'evidence/steps/script/stdout.txt': stdout,
    'evidence/steps/script/stderr.txt': '',
    'evidence/steps/script/manifest.json': {
      ...(stepManifest.example as object),
      step_id: 'script',
      opcode: 'RUN_VALIDATION',
      evidence_summary: { references: [], notes: [] },
      artifacts: [
        artifact('validation_report', 'result.json', result),
        artifact('validation_stdout', 'evidence/steps/script/stdout.txt', stdout),
        artifact('validation_stderr', 'evidence/steps/script/stderr.txt', ''),
      ],
    },
    'evidence/internal/result.raw': '{"contract_version":7',
    'evidence/internal/log.ndjson': 'no document\n',
    'evidence/internal/quarantine/evidence/steps/a/result.json': '{"contract_version":7}',
  };
}

function sealOf(files: Files, kind: RunKind = 'script'): object {
  return sealEnvelope(
    sealStatement({
      runId: RUN,
      kind,
      sealedAt: '2026-04-03T10:15:07.412Z',
      files: Object.entries(files).map(([file, content]) => ({
        path: file,
        sha256: bytesHash(text(content)),
        bytes: Buffer.byteLength(text(content)),
      })),
    }),
  );
}

/** A sealed run that was changed later; null removes a file. */
function sealed(changes: Record<string, string | object | null> = {}, before: Files = {}): Files {
  const files = { ...unsealed(), ...before };
  const changed: Record<string, string | object | null> = { ...files, 'evidence/seal.json': sealOf(files), ...changes };
  const present: Files = {};
  for (const [file, content] of Object.entries(changed)) if (content !== null) present[file] = content;
  return present;
}

const below = (folder: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([file, content]) => [`${folder}/${file}`, content]));

const lastOf = async (files: Files): Promise<Verdict> => (await verdictsOf(folderWith(files))).at(-1) as Verdict;

const NO_SEAL = 'whether files were changed, added or removed: there is no seal';

describe('the folder of a finished run', () => {
  test('is valid, with a verdict on every document and no unnamed file', async () => {
    const verdict = await lastOf(sealed());
    expect(verdict).toMatchObject({ outcome: 'valid', violations: [], advice: [] });
    expect(verdict.documents?.contracts).toEqual({
      'script-result': 1,
      'script-request': 1,
      'script-outcome': 1,
      'step-manifest': 1,
      event: 2,
      metadata: 1,
      runner: 1,
      seal: 1,
      status: 1,
    });
    expect(verdict.not_checked.join('; ')).not.toMatch(/no document refers|unknown format|internal files|no seal/);
  });

  test('is still valid after it was copied, and next to other runs', async () => {
    const copy = path.join(temporaryFolder(), 'elsewhere');
    cpSync(folderWith(sealed()), copy, { recursive: true });
    expect(await brokenIn(copy)).toEqual([]);
    const other = sealed({}, { 'evidence/runner.json': '{}', 'evidence/metadata.json': '{}' });
    delete other['evidence/runner.json'];
    delete other['evidence/metadata.json'];
    const both = { ...below('script/a', sealed()), ...below('script/b', other) };
    expect(await brokenIn(folderWith(both))).toEqual([
      'SL5 script/b/evidence/metadata.json',
      'SL5 script/b/evidence/runner.json',
    ]);
  });

  test('is invalid without a seal, because nothing proves that it is complete', async () => {
    const { outcome, violations, not_checked } = await lastOf(unsealed());
    expect(outcome).toBe('invalid');
    expect(violations).toMatchObject([
      {
        rule_id: 'SL5',
        path: 'evidence/seal.json',
        message: expect.stringContaining('is missing: files may have been changed, added or removed'),
      },
    ]);
    expect(not_checked).toContain(NO_SEAL);
  });

  test.each(['evidence/request.json', 'evidence/outcome.json'])(
    'without a seal is recognised as a Proctor run by %s',
    async kept => {
      const { 'evidence/request.json': request, 'evidence/outcome.json': outcome, ...others } = unsealed();
      const known = { 'evidence/request.json': request, 'evidence/outcome.json': outcome }[kept] as object;
      expect(await brokenIn(folderWith({ ...others, [kept]: known }))).toEqual(['SL5 evidence/seal.json']);
      expect(await brokenIn(folderWith(below('script/a', { ...others, [kept]: known })))).toEqual([
        'SL5 script/a/evidence/seal.json',
      ]);
    },
  );

  test('of another origin needs no seal, but the verdict says what was not checked', async () => {
    const { 'evidence/request.json': _, 'evidence/outcome.json': __, ...others } = unsealed();
    const { outcome, violations, not_checked } = await lastOf(others);
    expect({ outcome, violations }).toEqual({ outcome: 'valid', violations: [] });
    expect(not_checked).toContain(NO_SEAL);
  });

  test('is complete without its internal files, and says so', async () => {
    const files = Object.entries(sealed()).filter(([file]) => !file.startsWith('evidence/internal/'));
    const verdict = await lastOf(Object.fromEntries(files));
    expect(verdict).toMatchObject({ outcome: 'valid', violations: [] });
    expect(verdict.not_checked).toContain('the internal files, which are not included');
  });

  test('reduced to evidence/ counts the files outside', async () => {
    const verdicts = await verdictsOf(path.join(folderWith(sealed()), 'evidence'));
    const { outcome, not_checked } = verdicts.at(-1) as Verdict;
    expect(outcome).toBe('valid');
    const around = Object.keys(unsealed()).filter(file => !file.startsWith('evidence/')).length;
    // Files outside evidence/ that the seal lists, three that the manifest lists, and the artifact of an event.
    expect(not_checked).toContain(`${around + 3 + 1} references to files outside this folder`);
  });

  test('reduced to evidence/ is still compared with its seal', async () => {
    const changed = { ...sealed(), 'evidence/final-state.txt': 'all is well\n' };
    expect(await brokenIn(path.join(folderWith(changed), 'evidence'))).toEqual(['SL5 final-state.txt']);
    const more = { ...sealed(), 'evidence/more.txt': 'x' };
    expect(await brokenIn(path.join(folderWith(more), 'evidence'))).toEqual(['SL6 more.txt']);
    const { 'evidence/outcome.json': _, ...fewer } = sealed();
    expect(await brokenIn(path.join(folderWith(fewer), 'evidence'))).toEqual(['SL5 outcome.json']);
  });

  test('is valid with advice if a killed judge left a temporary file', async () => {
    const torn = { ...sealed(), '.evaluation.json.0a1b2c3d4e5f.tmp': '{' };
    const verdict = (await verdictsOf(folderWith(torn))).at(-1) as Verdict;
    expect(verdict.outcome).toBe('valid');
    expect(verdict.advice.map(({ rule_id, path }) => `${rule_id} ${path}`)).toEqual([
      'SL6 .evaluation.json.0a1b2c3d4e5f.tmp',
    ]);
    const other = { ...sealed(), '.result.json.0a1b2c3d4e5f.tmp': '{' };
    expect(await brokenIn(folderWith(other))).toEqual(['SL6 .result.json.0a1b2c3d4e5f.tmp']);
  });

  test('has streams that match the hashes in its outcome', async () => {
    const stream = (text: string): object => {
      const bytes = Buffer.byteLength(text);
      const kept = { bytes_total: bytes, bytes_kept: bytes, truncated: false, masked: 0 };
      const streams = [{ name: 'stdout', sha256: bytesHash(text), ...kept }];
      return exampleWith(scriptOutcome, { run_id: RUN, streams, cuts: [] }) as object;
    };
    const outcome = 'evidence/outcome.json';
    expect(await brokenIn(folderWith(sealed({}, { [outcome]: stream('hello\n') })))).toEqual([]);
    expect(await brokenIn(folderWith(sealed({}, { [outcome]: stream('hallo\n') })))).toEqual([
      'FD9 evidence/steps/script/stdout.txt',
    ]);
  });

  test.each(['evidence/request.json', 'evidence/outcome.json'])(
    'needs its %s, even if it is sealed without it',
    async name => {
      const { [name]: _, ...others } = unsealed();
      const forged = { ...others, 'evidence/seal.json': sealOf(others) };
      expect(await brokenIn(folderWith(forged))).toEqual(['FD9 evidence/seal.json']);
    },
  );

  test.each(['intent', 'suite', 'agent'] as const)('is invalid if it is sealed as a run of kind %s', async kind => {
    const broken = await brokenIn(folderWith(sealed({ 'evidence/seal.json': sealOf(unsealed(), kind) })));
    expect(new Set(broken)).toEqual(new Set(['FD9 evidence/seal.json']));
  });
});

const LATE = { 'evidence/events.ndjson': `${line({})}\n${line({ artifact_path: 'output/lost.txt' })}\n` };
const otherHash = { environment_hash: bytesHash('another') };
const meta = (changes: object): object => ({ ...(unsealed()['evidence/metadata.json'] as object), ...changes });

const outcomeWith = (changes: object): object => ({ ...(scriptOutcome.example as object), run_id: RUN, ...changes });
const FAILED = { status: 'failed', claimed_status: 'failed', reason: 'script_failed', public_message: 'It failed.' };

const breaches: [string, Files, string[]][] = [
  ['a grown output file', sealed({ 'output/report.txt': 'hello!' }), ['SL5 output/report.txt']],
  ['a replaced file', sealed({ 'output/report.txt': 'hullo' }), ['SL5 output/report.txt']],
  ['a missing file', sealed({ 'evidence/final-state.txt': null }), ['SL5 evidence/final-state.txt']],
  [
    'a changed document',
    sealed({ 'evidence/request.json': `${text(unsealed()['evidence/request.json'] as object)}\n` }),
    ['SL5 evidence/request.json'],
  ],
  [
    'a changed stream, which already differs from the manifest',
    sealed({ 'evidence/steps/script/stdout.txt': 'hullo\n' }),
    ['FD3 evidence/steps/script/manifest.json#artifacts[1]'],
  ],
  [
    'a missing stream, which the manifest already lists',
    sealed({ 'evidence/steps/script/stdout.txt': null }),
    ['FD2 evidence/steps/script/manifest.json#artifacts[1]'],
  ],
  [
    'a single missing internal file',
    sealed({ 'evidence/internal/log.ndjson': null }),
    ['SL5 evidence/internal/log.ndjson'],
  ],
  ['a changed internal file', sealed({ 'evidence/internal/result.raw': '' }), ['SL5 evidence/internal/result.raw']],
  [
    'a journal in the output',
    sealed({ 'output/logs/journal.ndjson': 'x', 'output/logs/evidence/a': 'x' }),
    ['SL6 output/logs/evidence/a', 'SL6 output/logs/journal.ndjson'],
  ],
  ['an additional file', sealed({ 'output/extra.txt': 'x' }), ['SL6 output/extra.txt']],
  ['an extra file at the top', sealed({ 'notes.txt': 'x' }), ['SL6 notes.txt']],
  ['an extra internal file', sealed({ 'evidence/internal/extra': 'x' }), ['SL6 evidence/internal/extra']],
  ['an evaluation in the wrong folder', sealed({ 'output/evaluation.json': '{}' }), ['SL6 output/evaluation.json']],
  ['a journal', sealed({ 'journal.ndjson': 'torn{' }), ['SL7 journal.ndjson']],
  ['a journal one level down', below('script/a', sealed({ 'journal.ndjson': '{}' })), ['SL7 script/a/journal.ndjson']],
  ['an event that refers to a missing file', sealed({}, LATE), ['FD2 evidence/events.ndjson:2#artifact_path']],
  [
    'metadata of another environment',
    sealed({}, { 'evidence/metadata.json': meta(otherHash) }),
    ['FD8 evidence/metadata.json#environment_hash'],
  ],
  [
    'the request of another run',
    sealed({}, { 'evidence/request.json': { ...(scriptRequest.example as object), run_id: 'script_other' } }),
    ['FD9 evidence/request.json'],
  ],
  [
    'an event of another run',
    sealed({}, { 'evidence/events.ndjson': `${line({})}\n${line({ run_id: 'script_other' })}\n` }),
    ['FD9 evidence/events.ndjson:2'],
  ],
  [
    'an outcome that contradicts its result',
    sealed({}, { 'evidence/outcome.json': outcomeWith(FAILED) }),
    ['FD9 evidence/outcome.json#status'],
  ],
  [
    'an outcome with an ending that was not recorded',
    sealed({}, { 'evidence/outcome.json': outcomeWith({ ...FAILED, ending: { how: 'exited', code: 7 } }) }),
    ['FD9 evidence/outcome.json#ending', 'FD9 evidence/outcome.json#status'],
  ],
];

describe('a run folder', () => {
  test.each(breaches)('with %s is invalid', async (_, files, broken) => {
    expect(await brokenIn(folderWith(files))).toEqual(broken);
  });

  test('is tested here against every rule that only a run folder can violate', () => {
    const tested = new Set(breaches.flatMap(([, , broken]) => broken.map(place => place.slice(0, 3))));
    // signatures.test.ts covers the rules that need a key.
    const needed = folderRules.map(({ id }) => id).filter(id => /^(?:FD[89]|SL[1-7])$/.test(id));
    expect(needed.filter(id => !tested.has(id))).toEqual([]);
    expect(needed).toEqual(['FD8', 'FD9', 'SL5', 'SL6', 'SL7']);
  });
});

test('a link in place of a sealed file does not count as that file', async () => {
  const folder = folderWith(sealed());
  rmSync(path.join(folder, 'output', 'report.txt'));
  symlinkSync('../result.json', path.join(folder, 'output', 'report.txt'));
  expect(await brokenIn(folder)).toEqual(['FD1 output/report.txt', 'SL5 output/report.txt']);
});

test('a folder that contains only a journal is an unfinished run, not an unknown format', async () => {
  const verdicts = await verdictsOf(folderWith({ 'journal.ndjson': '{"torn' }));
  expect(verdicts).toMatchObject([{ outcome: 'invalid', violations: [{ rule_id: 'SL7', path: 'journal.ndjson' }] }]);
  expect(verdicts[0]?.violations[0]?.message).toContain(
    'belongs to an interrupted run that you did not start on this machine',
  );
  expect(verdicts[0]?.not_checked).toEqual([]);
});

test('the verdict on an interrupted run that was started here names the command to finish it', async () => {
  const folder = folderWith({ 'journal.ndjson': '{"is":"planned"}\n' });
  proveJournal(folder);
  expect((await verdictsOf(folder))[0]?.violations[0]?.message).toContain('run proctor recover to finish it');
});

test('an invalid seal has its own verdict and does not count as missing', async () => {
  const verdicts = await verdictsOf(folderWith(sealed({ 'evidence/seal.json': { payloadType: 'x' } })));
  expect(verdicts.find(({ contract }) => contract === 'seal')?.outcome).toBe('invalid');
  expect(verdicts.at(-1)?.violations).toEqual([]);
  expect(verdicts.at(-1)?.not_checked.join()).not.toContain('there is no seal');
});

describe('metadata', () => {
  const runOf = (metadata: object, record: object | string | null = runner.example as object): Files => ({
    'evidence/metadata.json': metadata,
    ...(record !== null && { 'evidence/runner.json': record }),
  });
  const absent = { environment_hash: undefined, runner_record_absent: 'The time limit was above 10 minutes.' };
  const plain = (value: object): object => JSON.parse(JSON.stringify(value)) as object;

  test('must not state the environment of a missing runner record', async () => {
    expect(await brokenIn(folderWith(runOf(meta({}))))).toEqual([]);
    expect(await brokenIn(folderWith(runOf(meta({}), null)))).toEqual(['FD8 evidence/metadata.json#environment_hash']);
  });

  test('must not explain the absence of a runner record that exists', async () => {
    expect(await brokenIn(folderWith(runOf(plain(meta(absent)), null)))).toEqual([]);
    expect(await brokenIn(folderWith(runOf(plain(meta(absent)))))).toEqual([
      'FD8 evidence/metadata.json#runner_record_absent',
    ]);
  });

  test('is not blamed for an invalid runner record', async () => {
    const verdicts = await verdictsOf(folderWith(runOf(meta({}), exampleWith(runner, { platform: 7 }) as object)));
    expect(verdicts.flatMap(({ violations }) => violations.map(({ rule_id }) => rule_id))).toEqual(['RN3']);
  });
});

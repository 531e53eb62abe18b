import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import type { StepManifest } from '../../src/contracts/agent-step/index.ts';
import type { Contract } from '../../src/contracts/contract.ts';
import { writeEvaluationFiles } from '../../src/evidence/judgement/evaluation-files.ts';
import { judgeAgentRun } from '../../src/judge/agent/judge-agent.ts';
import {
  AGENT_RUN,
  agentFiles,
  agentFolder,
  EVENTS,
  planOf,
  policyOf,
  type Told,
  transcriptOf,
} from '../evidence/agent/agent-world.ts';
import { sealedFolder } from '../evidence/pack/pack-world.ts';
import { expectValid } from '../evidence/script/script-world.ts';
import { exampleWith, temporaryFolder } from '../support/support.ts';
import { brokenIn, verdictsOf } from './folders.ts';

const STEP = 'evidence/steps/agent';
const MANIFEST = `${STEP}/manifest.json`;
const TRANSCRIPT = `${STEP}/transcript.ndjson`;
const METADATA = `${STEP}/runner_metadata.json`;
const STATUS = `${STEP}/workspace_status.json`;
const POLICY = `${STEP}/policy_summary.json`;

/** Values to replace in a document, by path, or a new text for a file. */
type Changes = Record<string, Record<string, unknown> | string>;

/** The violations of a folder after these changes. The manifest and the seal are updated to match them. */
async function brokenBy(changes: Changes, told: Told = {}): Promise<string[]> {
  const files = agentFiles(told);
  for (const [file, change] of Object.entries(changes)) {
    const example = (): Contract => ({ example: JSON.parse(files[file] as string) as unknown }) as Contract;
    files[file] = typeof change === 'string' ? change : canonicalize(exampleWith(example(), change));
  }
  const manifest = JSON.parse(files[MANIFEST] as string) as StepManifest;
  for (const artifact of manifest.artifacts) {
    const content = artifact.path === undefined ? undefined : files[artifact.path];
    if (content === undefined) continue;
    artifact.sha256 = bytesHash(content);
    artifact.size_bytes = Buffer.byteLength(content);
  }
  return brokenIn(await sealedFolder('agent', AGENT_RUN, { ...files, [MANIFEST]: canonicalize(manifest) }));
}

const hard = (kind: string, more: object = {}) =>
  ({ class: kind, message: 'It was not allowed.', hard: true, ...more }) as never;

const FORBIDDEN: Told = {
  policy: { violations: [hard('forbidden_path', { path: 'src/generated/a.ts' })] },
  judgement: { termination: 'killed_policy', reason: 'forbidden_path', detail: 'src/generated/a.ts was changed.' },
};

const ATTEMPT = { group: 'attempts_20260402_101500_0123456789ab', number: 1, of: 3 };
const ATTEMPTED: Told = { plan: { asked: { ...planOf().asked, attempt: ATTEMPT } } };

const ASKED: Told = {
  ending: { how: 'killed', by: 'policy', signal: 'SIGKILL' },
  finalText: null,
  policy: { violations: [hard('interactive_prompt_violation')] },
  judgement: { termination: 'error', reason: 'prompt_detected', detail: 'The agent asked for input.' },
};

const SILENT: Told = {
  events: [],
  finalText: null,
  diff: null,
  ending: { how: 'killed', by: 'idle', signal: 'SIGKILL' },
  judgement: { termination: 'killed_idle', reason: 'stalled', detail: 'The agent made no progress for too long.' },
};

const LATE: Told = {
  ending: { how: 'killed', by: 'timeout', signal: 'SIGKILL' },
  policy: { violations: [hard('native_policy_block')] },
  judgement: { termination: 'killed_timeout', reason: 'wall_clock', detail: 'The agent exceeded its time limit.' },
};

describe('an agent run folder', () => {
  test.each([
    ['that completed', {}],
    ['that changed a forbidden path', FORBIDDEN],
    ['that asked for input', ASKED],
    ['of an agent without output', SILENT],
    ['that ran out of time after a denial', LATE],
    [
      'that ran out of time after a network violation',
      { ...LATE, policy: { violations: [hard('network_violation')] } },
    ],
    [
      'that was stopped because it accessed the network',
      {
        ending: { how: 'killed', by: 'policy', signal: 'SIGKILL' },
        policy: { violations: [hard('network_violation')] },
        judgement: { termination: 'killed_policy', reason: 'denied_tool', detail: 'A tool call was denied.' },
      },
    ],
    [
      'that could not start',
      {
        ...SILENT,
        ending: { how: 'not_started', code: 127 },
        judgement: { termination: 'error', reason: 'spawn_failed', detail: 'It could not be started.' },
      },
    ],
  ] as [string, Told][])('%s is valid and completely sealed', async (_, told) => {
    await expectValid(await agentFolder(temporaryFolder(), told));
  });

  test('is not refused in strict mode if a native stream has no valid JSON line', async () => {
    const files = agentFiles(SILENT);
    const folder = await sealedFolder('agent', AGENT_RUN, { ...files, 'evidence/native/stderr.log': '{"a":\n\n' });
    expect((await verdictsOf(folder, { strict: true })).map(({ outcome }) => outcome)).not.toContain('refused');
  });

  test('needs its request and its outcome', async () => {
    const { 'evidence/request.json': _, 'evidence/outcome.json': __, ...files } = agentFiles();
    const broken = await brokenIn(await sealedFolder('agent', AGENT_RUN, files));
    expect(broken).toEqual(['FD9 evidence/seal.json', 'FD9 evidence/seal.json']);
  });
});

describe('FD12', () => {
  test.each([
    [
      'a result with another ending',
      { 'result.json': { termination: 'error', reason: 'stalled' } },
      ['result.json#reason', 'result.json#termination'],
    ],
    ['a result with another reason', { 'result.json': { reason: 'denied_tool' } }, ['result.json#reason'], FORBIDDEN],
    [
      'runner metadata with another ending',
      { [METADATA]: { termination: 'error', reason: 'signal' } },
      [`${METADATA}#reason`, `${METADATA}#termination`],
    ],
    ['a manifest with another ending', { [MANIFEST]: { termination: 'error' } }, [`${MANIFEST}#termination`]],
    [
      'metadata with another ending',
      { 'evidence/metadata.json': { termination: 'error' } },
      ['evidence/metadata.json#termination'],
    ],
    [
      'a status with another ending',
      { 'evidence/status.json': { termination: 'killed_idle' } },
      ['evidence/status.json#termination'],
      FORBIDDEN,
    ],
    [
      'another agent in the request',
      { 'evidence/request.json': { agent_family: 'codex_cli' } },
      ['evidence/request.json#agent_family'],
    ],
    [
      'metadata with another attempt',
      { 'evidence/metadata.json': { 'attempt.number': 2 } },
      ['evidence/metadata.json#attempt'],
      ATTEMPTED,
    ],
    [
      'metadata with an attempt that the request lacks',
      { 'evidence/metadata.json': { attempt: ATTEMPT } },
      ['evidence/metadata.json#attempt'],
    ],
    ['another version', { [METADATA]: { agent_version: '9' } }, [`${METADATA}#agent_version`]],
    ['another program', { [METADATA]: { program_sha256: bytesHash('x') } }, [`${METADATA}#program_sha256`]],
    [
      'a tested version marked as untested',
      { [METADATA]: { untested_version: true } },
      [`${METADATA}#untested_version`],
    ],
    ['another session', { [METADATA]: { session_id: 'x' } }, [`${METADATA}#session_id`]],
    ['another model', { [METADATA]: { model: 'x' } }, [`${METADATA}#model`]],
    ['another exit code', { [METADATA]: { exit_code: 3 } }, [`${METADATA}#exit_code`], FORBIDDEN],
    ['no exit code, although the agent exited', { [METADATA]: { exit_code: null } }, [`${METADATA}#exit_code`]],
    [
      'another ending',
      { 'evidence/outcome.json': { ending: { how: 'exited', code: 1 } } },
      ['evidence/outcome.json#ending', `${METADATA}#exit_code`],
    ],
    [
      'a final response that the manifest does not list',
      { 'result.json': { final_response_path: POLICY } },
      ['result.json#final_response_path'],
    ],
    [
      'another file as the transcript',
      { 'result.json': { transcript_path: METADATA } },
      ['result.json#transcript_path'],
    ],
    [
      'another approval posture',
      { [METADATA]: { approval_posture: 'deny_interactive' } },
      [`${METADATA}#approval_posture`],
    ],
    ['killed_policy without a violation', { [POLICY]: { violations: [] } }, [`${POLICY}#violations`], FORBIDDEN],
    [
      'killed_policy for another violation',
      { [POLICY]: { violations: [hard('forbidden_operation', { operation: 'push' })] } },
      [`${POLICY}#violations`],
      FORBIDDEN,
    ],
    [
      'a hard violation without killed_policy',
      { [POLICY]: { violations: [hard('protected_branch_violation')] } },
      [`${POLICY}#violations`],
    ],
    [
      'a prompt in a completed step',
      { [POLICY]: { violations: [hard('interactive_prompt_violation')] } },
      [`${POLICY}#violations`],
    ],
    [
      'a work tree of another run',
      { [STATUS]: { run_id: 'agent_20260403_101500_000000000000' } },
      [`${STATUS}#run_id`],
    ],
    [
      'a policy that differs from the request',
      { 'evidence/request.json': { 'requested_policy.network_posture': 'allow' } },
      [`${POLICY}#requested`],
    ],
    [
      'a changed path that is not reported',
      { [POLICY]: { 'effective.forbidden_paths': ['src/generated', 'src/parse.ts'] } },
      [`${POLICY}#violations`],
    ],
    [
      'a change under a read-only policy',
      { [POLICY]: { 'effective.execution_posture': 'read_only', 'effective.allowed_paths': [] } },
      [`${POLICY}#violations`, 'evidence/runner.json#write_roots'],
      { plan: { runner: { ...(planOf().runner as object), write_roots: ['.'] } as never } },
    ],
    [
      'a protected branch that is not reported',
      {
        [STATUS]: {
          'refs.total': 1,
          'refs.listed': [{ name: 'refs/heads/main', change: 'moved', sha: null, protected: true }],
          branch_moved: true,
        },
      },
      [`${POLICY}#violations`],
    ],
    [
      'a blocked network that the policy allows',
      {
        'evidence/request.json': { 'requested_policy.network_posture': 'allow' },
        [POLICY]: { 'requested.network_posture': 'allow', 'effective.network_posture': 'allow' },
      },
      ['evidence/runner.json#sandbox.network_blocked'],
    ],
    ['fewer events', { 'evidence/outcome.json': { events: 9 } }, ['evidence/outcome.json#events']],
    ['a missing line', { [TRANSCRIPT]: transcriptOf(EVENTS).replace(/^.*\n/, '') }, [`${TRANSCRIPT}:1#seq`]],
    ['fewer native lines', { 'evidence/outcome.json': { 'lines.total': 9 } }, ['evidence/outcome.json#lines.total']],
    [
      'native lines out of order',
      { [TRANSCRIPT]: transcriptOf(EVENTS).replace('"native_line":10', '"native_line":1') },
      [`${TRANSCRIPT}:10#native_line`],
    ],
    ['another native stream', { 'evidence/native/stdout.log': '{}\n' }, ['evidence/native/stdout.log']],
  ] as [string, Changes, string[], Told?][])('detects %s', async (_, changes, places, told) => {
    expect(await brokenBy(changes, told)).toEqual(places.sort().map(place => `FD12 ${place}`));
  });

  test('accepts the same changes if all documents agree', async () => {
    expect(await brokenBy({}, { ...FORBIDDEN, policy: policyOf(FORBIDDEN.policy) })).toEqual([]);
    expect(await brokenBy({}, ATTEMPTED)).toEqual([]);
  });
});

describe('FD10 for agents', () => {
  test.each([
    ['another seal', { seal_sha256: bytesHash('x') }, 'seal_sha256'],
    ['another run', { run_id: 'agent_20260403_101500_000000000000' }, 'run_id'],
    [
      'a line that is not in the transcript',
      { flags: [{ flag: 'outside_scope', message: 'a', seq: 11 }] },
      'flags[0].seq',
    ],
  ])('detects %s', async (_, changes, at) => {
    const folder = await agentFolder(temporaryFolder());
    const evaluation = { ...(await judgeAgentRun(folder, undefined)), ...changes };
    writeEvaluationFiles(folder, canonicalize(evaluation), evaluation, undefined);
    const broken = await brokenIn(folder);
    expect(broken.filter(line => line.startsWith('FD'))).toEqual([`FD10 evaluation.json#${at}`]);
  });

  test('accepts the evaluation that the judge wrote', async () => {
    const folder = await agentFolder(temporaryFolder());
    expect((await judgeAgentRun(folder, undefined)).flags).toEqual([]);
    await expectValid(folder);
  });
});

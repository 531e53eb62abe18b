import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AgentOutcome, PolicySummary } from '../../../src/contracts/agent-step/index.ts';
import { startModelApi } from '../../../stand-ins/model-api.ts';
import { endProcess, type Started, until } from '../../support/runs.ts';
import { AgentWorld, linesIn, placePrograms } from './world.ts';

placePrograms();

const read = (folder: string, file: string): string => readFileSync(path.join(folder, file), 'utf8');
const json = (folder: string, file: string): unknown => JSON.parse(read(folder, file));

/** Starts an agent that hangs after its actions, and waits until its stream reports the last one. */
async function hanging(world: AgentWorld, deeds: string, flags: readonly string[] = []): Promise<Started> {
  const api = await startModelApi();
  onTestFinished(() => api.close());
  const model = { ANTHROPIC_API_KEY: 'the-key-of-the-model', ANTHROPIC_BASE_URL: api.url, TOKEN: 'hunter2222' };
  const started = world.start('claude', `${deeds} DO=say DO=hang`, flags, model);
  onTestFinished(() => void endProcess(started.pid));
  await until('the agent has completed every action but the last', () => {
    const [folder] = world.place.runFolders();
    const transcript = path.join(folder ?? '', 'evidence/steps/agent/transcript.ndjson');
    return existsSync(transcript) && readFileSync(transcript, 'utf8').includes('I look around first.');
  });
  return started;
}

function recovered(world: AgentWorld): string {
  const { code, stdout, stderr } = world.tried(['recover']);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('was interrupted');
  return world.place.runFolders()[0] as string;
}

test('recovers an agent run after Proctor was killed, with its denials, requests and diff', async () => {
  const world = new AgentWorld();
  const started = await hanging(world, 'DO=deny DO=model DO=write');
  const killedAtMs = Date.now();
  started.kill('SIGKILL');
  await started.ended;
  const folder = recovered(world);

  const outcome = json(folder, 'evidence/outcome.json') as AgentOutcome;
  expect(outcome).toMatchObject({
    termination: 'error',
    reason: 'interrupted',
    ending: { how: 'lost' },
    denials: 1,
    lines: { unknown: 0, broken: 0 },
    model_access: { mode: 'live', requests: 1, failures: 0 },
    agent: { model: 'claude-opus-5-5' },
    reported: { turns: null, input_tokens: null },
    usage: { cpu_ms: null, memory_peak_bytes: null },
    recovered: { unknown: ['ending', 'usage', 'streams'] },
  });
  expect((json(folder, 'evidence/steps/agent/policy_summary.json') as PolicySummary).violations).toMatchObject([
    { class: 'native_policy_block', operation: 'Write', hard: false },
  ]);
  expect(read(folder, 'workspace.diff')).toContain('+hello from the agent');
  expect(json(folder, 'evidence/steps/agent/workspace_status.json')).toMatchObject({ changed: { total: 1 } });
  expect(linesIn(folder).length).toBe(outcome.events);
  expect(existsSync(path.join(folder, 'evidence/runner.json'))).toBe(false);
  const metadata = json(folder, 'evidence/metadata.json') as { ended_at: string; runner_record_absent: string };
  expect(metadata.runner_record_absent).toMatch(/did not see how the program ended/);
  expect(Date.parse(metadata.ended_at)).toBeLessThanOrEqual(killedAtMs);
  expect(readdirSync(path.join(folder, 'evidence/internal'))).toEqual(['log.ndjson']);
  const shown = world.tried(['show', 'latest']).stdout;
  expect(shown).toContain('  unknown   how it ended, its resource usage, whether it printed more\n');
  expect(shown).toMatch(/changes {3}1 file, \+1 −0/);
  expect(world.tried(['list']).stdout).toContain('interrupted; unknown: how it ended');
});

test('checks the saved changes against the policy, and masks secrets in names', async () => {
  const world = new AgentWorld({ 'README.md': 'A project.\n', 'docs/index.md': 'Docs.\n' });
  world.place.file('docs.yaml', 'name: docs\nextends: edit\nallowed_paths: [docs]\n');
  const flags = ['--policy', 'docs.yaml', '--secret', 'TOKEN'];
  const started = await hanging(world, 'DO=write:src/hunter2222.txt', flags);
  started.kill('SIGKILL');
  await started.ended;
  const folder = recovered(world);
  expect(json(folder, 'evidence/outcome.json')).toMatchObject({
    termination: 'killed_policy',
    reason: 'forbidden_path',
  });
  const told = read(folder, 'evidence/steps/agent/policy_summary.json');
  expect(told).toContain('forbidden_path');
  for (const file of ['policy_summary.json', 'workspace_status.json', 'transcript.ndjson'])
    expect(read(folder, `evidence/steps/agent/${file}`)).not.toContain('hunter2222');
  expect(told).toContain('[masked]');
});

test('reports the changes as unknown if the launcher was killed with Proctor', async () => {
  const world = new AgentWorld();
  const started = await hanging(world, 'DO=write');
  const launcher = started.launcher() ?? 0;
  // Stopped first, so that it cannot save anything before it dies.
  process.kill(launcher, 'SIGSTOP');
  started.kill('SIGKILL');
  await started.ended;
  endProcess(launcher);
  const folder = recovered(world);
  expect(json(folder, 'evidence/outcome.json')).toMatchObject({
    reason: 'interrupted',
    recovered: { unknown: ['ending', 'usage', 'streams', 'workspace'] },
  });
  expect(existsSync(path.join(folder, 'workspace.diff'))).toBe(false);
  const shown = world.tried(['show', 'latest']).stdout;
  expect(shown).toContain('what it changed\n');
  expect(shown).toContain('changes   unknown');
});

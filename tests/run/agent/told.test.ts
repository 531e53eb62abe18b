/** Small facts that the evidence of an agent's run must state correctly. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { AgentWorld, placePrograms } from './world.ts';

placePrograms();

const read = (folder: string, file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(path.join(folder, 'evidence', file), 'utf8')) as Record<string, unknown>;

test("the agent's times are those of its process, and within those of the run", () => {
  const world = new AgentWorld();
  const { folder } = world.run('claude', 'DO=write');
  const run = read(folder, 'metadata.json') as { started_at: string; ended_at: string };
  const agent = read(folder, 'steps/agent/runner_metadata.json') as { started_at: string; ended_at: string };
  const { phases } = (read(folder, 'runner.json') as { timing: { phases: { name: string; started_at: string }[] } })
    .timing;
  expect(agent.started_at).toBe(phases.find(({ name }) => name === 'execute')?.started_at);
  const times = [run.started_at, agent.started_at, agent.ended_at, run.ended_at];
  expect(times).toEqual([...times].sort());
  const events = readFileSync(path.join(folder, 'evidence/events.ndjson'), 'utf8').trim().split('\n');
  const at = (type: string): string =>
    events
      .map(line => JSON.parse(line) as { event_type: string; timestamp: string })
      .find(one => one.event_type === type)?.timestamp ?? '';
  expect([at('step_started'), at('runner_started'), at('runner_completed'), at('step_completed')]).toEqual(times);
});

test.each([
  ['claude', 'agent', 'claude enforces it, at most 7'],
  ['codex', 'proctor', "Proctor counts turns in codex's event stream, at most 7"],
] as const)('the evidence states the turn limit of %s, and what enforces it', (agent, enforced_by, note) => {
  const world = new AgentWorld();
  const { folder, answer } = world.run(agent, 'DO=write', ['--max-turns', '7']);
  expect(read(folder, 'outcome.json')['turn_limit']).toEqual({ max: 7, enforced_by });
  expect(answer['turn_limit']).toEqual({ max: 7, enforced_by });
  expect(read(folder, 'steps/agent/policy_summary.json')['capability_notes']).toContain(`max_turns: ${note}`);
  expect(world.tried(['show', 'latest']).stdout).toContain('7 turns');
  const { folder: without } = world.run(agent, 'DO=write');
  expect(read(without, 'outcome.json')).not.toHaveProperty('turn_limit');
});

test('the evidence says that codex enforces nothing without its own sandbox', () => {
  const world = new AgentWorld();
  const lines = [
    { type: 'thread.started', thread_id: '01a1e070-0000-7000-8000-000000000000' },
    { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'Done.' } },
    { type: 'turn.completed', usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } },
  ].map(line => JSON.stringify(line));
  const script = [
    '#!/bin/sh',
    'case "$1" in',
    '--version) echo "codex-cli 0.166.0";;',
    'sandbox) exit 1;;',
    `*) printf '%s\\n' ${lines.map(line => `'${line}'`).join(' ')};;`,
    'esac',
  ];
  world.place.file('own/codex', `${script.join('\n')}\n`, 0o755);
  const env = { PATH: `${path.join(world.place.cwd, 'own')}:/usr/bin:/bin` };
  const { folder } = world.run('codex', 'x', ['--policy', 'read-only'], env);
  const { capability_notes } = read(folder, 'steps/agent/policy_summary.json') as { capability_notes: string[] };
  expect(capability_notes.join('\n')).toContain(
    "codex's own sandbox is off, because it cannot start inside Proctor's sandbox",
  );
  expect(capability_notes.join('\n')).not.toContain('codex enforces');
});

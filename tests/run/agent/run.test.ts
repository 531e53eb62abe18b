import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startModelApi } from '../../../stand-ins/model-api.ts';
import { repositoryFolder } from '../../../stand-ins/place.ts';
import { recording } from '../../../src/contracts/recording/index.ts';
import { ownName } from '../../../src/execute/host/processes.ts';
import { runAgent } from '../../../src/verbs/run-agent.ts';
import { AgentWorld, completed, ended, expectAll, filesIn, linesIn, placePrograms, type Row } from './world.ts';

placePrograms();

/** The common endings; the deep tests have the rest. Every run is verified at the end. */
const ROWS: readonly Row[] = [
  ['claude', 'DO=write DO=not_json', 'edit', { ...completed, changes: { files: 1, commits: 0 }, violations: [] }],
  ['codex', 'DO=api_error:529', 'edit', ended('error', 'api_error')],
  ['claude', 'DO=no_result', 'edit', ended('error', 'incomplete_stream')],
  ['codex', 'DO=deny', 'strict.yaml', { ...ended('killed_policy', 'denied_tool'), denials: 1 }],
  ['claude', 'DO=write_secretly:src/a.txt', 'strict.yaml', ended('killed_policy', 'forbidden_path')],
];

test('reports the common endings correctly, and leaves the repository unchanged', () => expectAll(ROWS));

test('the evidence stays valid if file names look like host paths', () => {
  const world = new AgentWorld();
  world.run('claude', 'Look at /home/alice DO=write:e=/home/alice/x.txt DO=branch:b=/home/x DO=symlink:/home/alice/y');
  const { code, stdout } = world.tried(['verify', 'latest']);
  expect(code, stdout).toBe(0);
});

test('reads and stores hostile lines', () => {
  const deep = (many: number): string => '['.repeat(many) + ']'.repeat(many);
  const lines = [
    String.raw`{"type":"system","subtype":"init","session_id":"\ud800\u001b[31m","model":"\ud800","tools":{}}`,
    String.raw`{"type":"assistant","message":{"__proto__":{"content":1},"content":[{"type":"text","text":"lone \ud800"},{"type":"tool_use","id":"a\ud800","name":"B\udc00","input":{"__proto__":1,"command":"\ud800","file_path":"\udfff"}}],"usage":{"input_tokens":1e999}}}`,
    `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"d","name":"Deep","input":${deep(100_000)}}]}}`,
    String.raw`{"type":"system","subtype":"api_retry","attempt":-1,"error_status":1e999,"error":"\ud800"}`,
    String.raw`{"type":"system","subtype":"permission_denied","tool_name":"\ud800","tool_use_id":"\ud800","message":"\ud800"}`,
    '{"type":"system","subtype":"permission_denied","tool_name":"WebFetch","tool_use_id":"w","message":"no web"}',
    '{"type":"assistant","message":{"content":[{"type":"text","text":"\\u001b]0;evil\\u0007\\u001b[2J"}]}}\r',
    '\0\0\0',
    '{"type":"__proto__"}',
    '{"__proto__":{"type":"result"}}',
    '{"type":["result"]}',
    String.raw`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"final \ud800 \u0000","num_turns":-3,"total_cost_usd":1e999,"modelUsage":{"a":{"inputTokens":9007199254740991},"b":{"inputTokens":9007199254740991,"outputTokens":-1}},"permission_denials":[{"tool_name":"\ud800"},null,1]}`,
  ];
  const world = new AgentWorld({ 'lines.txt': `${lines.join('\n')}\n` });
  const { answer, folder, stderr } = world.run('claude', 'DO=print_file DO=no_result');
  expect(answer, stderr).toMatchObject({
    ...completed,
    final_response: 'final \ufffd \0',
    usage: { turns: null, input_tokens: null, output_tokens: null, cost_usd: null },
  });
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  expect(linesIn(folder).filter(({ kind }) => kind === 'denial')).toHaveLength(3);
  expect(answer.violations.map(({ class: kind }) => kind)).toEqual([
    'native_policy_block',
    'network_violation',
    'native_policy_block',
  ]);
  const native = readFileSync(path.join(folder, 'evidence', 'native', 'stdout.log'), 'utf8');
  expect(native).toContain(lines.join('\n'));
});

test('a secret appears only in the diffs, which are flagged; the model key appears nowhere', () => {
  const secret = 'hunter2-of-mine';
  const world = new AgentWorld();
  world.place.file('own.yaml', 'name: own\nextends: edit\nallowed_paths: [docs]\n');
  const hex = Buffer.from(secret).toString('hex');
  const task = `Say ${secret} DO=tell:MINE DO=write:a-${secret}/x.txt DO=write:a-${hex}/x.txt DO=branch:b-${secret} DO=tag:t-${secret}
    DO=on_stderr:${secret} DO=commit:c-${secret}.txt DO=look`;
  const flags = ['--secret', 'MINE', '--policy', 'own.yaml', '--prompt-ref', `p-${secret}`, '--model', `m-${secret}`];
  const { answer, folder, stdout, stderr } = world.run('claude', task, flags, {
    MINE: secret,
    ANTHROPIC_API_KEY: 'the-key-of-the-model',
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  });
  expect(answer).toMatchObject({ reason: 'forbidden_path', model_access: { mode: 'live' } });
  expect(answer['warnings']).toContain('secret_in_file: a declared secret was found in 2 files');
  const telling = [...filesIn(folder)]
    .filter(([, bytes]) => bytes.includes(secret))
    .map(([file]) => file)
    .sort();
  expect(telling).toEqual(['commits.diff', 'workspace.diff']);
  for (const text of [stdout, stderr]) expect(text).not.toContain(secret);
  for (const [file, bytes] of filesIn(path.join(world.place.cwd, '.proctor')))
    expect(bytes.includes('the-key-of-the-model'), file).toBe(false);
  expect(readFileSync(path.join(folder, 'workspace.diff'), 'utf8')).toContain('"tty":[false,false,false]');
});

test.each([
  ['2.9.0', [], 'newer than every tested one'],
  ['1.0.9', ['--allow-untested-version'], 'older, if requested'],
])('an untested version, %s, runs with a warning, and the evidence states it', (version, flags) => {
  const world = new AgentWorld();
  const line = JSON.stringify({
    type: 'result',
    subtype: 'success',
    is_error: false,
    terminal_reason: 'completed',
    result: 'Done.',
  });
  world.place.file(
    'new/claude',
    `#!/bin/sh\n[ "$1" = --version ] && echo '${version} (Claude Code)' || echo '${line}'\n`,
    0o755,
  );
  const env = { PATH: `${path.join(world.place.cwd, 'new')}:/usr/bin:/bin` };
  const { answer, folder, stderr } = world.run('claude', 'x', flags, env);
  const agent = { version, untested: true, newest_tried: '2.1.325' };
  expect(answer).toMatchObject({ ...completed, agent });
  const warning = `version: ${version} is untested; the newest tested version is 2.1.325`;
  expect(stderr).toContain(`warning: ${warning}`);
  expect(world.tried(['show', 'latest']).stdout).toContain('untested version (newest tested: 2.1.325)');
  const read = (file: string): object =>
    JSON.parse(readFileSync(path.join(folder, 'evidence', file), 'utf8')) as object;
  expect(read('outcome.json')).toMatchObject({ agent });
  expect(read('runner.json')).toMatchObject({ warnings: expect.arrayContaining([warning]) as string[] });
  expect(read('steps/agent/runner_metadata.json')).toMatchObject({ agent_version: version, untested_version: true });
});

test('Proctor runs nothing that the agent left in .git', () => {
  const world = new AgentWorld();
  const mark = path.join(world.place.cwd, 'mark');
  world.run('claude', `DO=hook:${mark} DO=config:${mark} DO=attributes:${mark} DO=append`, ['--policy', 'open']);
  expect(existsSync(mark)).toBe(false);
});

test('a failing callback does not stop the run, and its error is thrown at the end', async () => {
  const world = new AgentWorld();
  let calls = 0;
  let folder = '';
  const run = runAgent({
    agent: 'claude',
    task: 'DO=lines:20 DO=write',
    policy: 'edit',
    dir: world.repository,
    cwd: world.place.cwd,
    environment: { PATH: world.environment['PATH'] },
    onFolder: place => {
      folder = place.folder;
    },
    onEvent: () => {
      calls++;
      throw new Error('I cannot bear it');
    },
  });
  await expect(run).rejects.toThrow('I cannot bear it');
  expect(calls).toBe(1);
  expect(JSON.parse(readFileSync(path.join(folder, 'result.json'), 'utf8'))).toMatchObject(completed);
});

test('a recording that cannot be written does not lose the run, and is reported at the end', async () => {
  const world = new AgentWorld();
  const api = await startModelApi();
  onTestFinished(() => api.close());
  const recorded = path.join(world.place.cwd, 'model.json');
  let folder = '';
  const run = runAgent({
    agent: 'claude',
    task: 'DO=model DO=write',
    policy: 'edit',
    dir: world.repository,
    cwd: world.place.cwd,
    modelMode: 'record',
    recording: recorded,
    environment: {
      PATH: world.environment['PATH'],
      ANTHROPIC_API_KEY: 'the-key-of-the-model',
      ANTHROPIC_BASE_URL: api.url,
    },
    onFolder: place => {
      folder = place.folder;
      mkdirSync(path.join(recorded, 'in-the-way'), { recursive: true });
    },
  });
  await expect(run).rejects.toThrow('The file model.json could not be written. The run itself is complete');
  expect(JSON.parse(readFileSync(path.join(folder, 'result.json'), 'utf8'))).toMatchObject(completed);
  expect(readFileSync(path.join(folder, 'workspace.diff'), 'utf8')).toContain('+hello from the agent');
  expect(readdirSync(tmpdir()).filter(name => name.startsWith(`proctor-stage-${ownName()}-`))).toEqual([]);
});

test('refuses an invalid request in one sentence, and leaves no files', () => {
  const world = new AgentWorld();
  const { place } = world;
  const dirty = repositoryFolder();
  writeFileSync(path.join(dirty, 'README.md'), 'changed\n');
  place.file('broken/.git', 'no repository\n');
  place.file('recorded.json', JSON.stringify({ ...(recording.example as object), agent_family: 'codex_cli' }));
  place.file('long.md', 'x'.repeat(1_000_000));
  place.file('contrary.yaml', 'name: contrary\nexecution_posture: read_only\nallowed_paths: [docs]\n');
  place.file('other/claude', "#!/bin/sh\necho '1.0.9 (Claude Code)'\n");
  chmodSync(path.join(place.cwd, 'other', 'claude'), 0o755);
  const refused: readonly (readonly [flags: readonly string[], sentence: string, env?: NodeJS.ProcessEnv])[] = [
    [['--task', ' '], 'The task is empty. Describe what the agent should do.'],
    [['--task', 'x', '--task-file', 'y'], 'Pass the task with either --task or --task-file.'],
    [['--task-file', '/dev/zero'], 'The task file zero is not a file.'],
    [['--task', 'x', '--prompt-ref', '/home/alice/p'], 'The prompt reference is an absolute path'],
    [['--task', 'x', '--secret', 'PIN'], 'The value of PIN is too short to mask', { PIN: '123' }],
    [['--task', 'x', '--recording', 'r.json'], '--recording requires --model-mode'],
    [
      ['--task', 'x', '--model-mode', 'record', '--recording', 'r.json'],
      'None of ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN is set, so Proctor cannot reach a model to record.',
    ],
    [
      ['--task', 'x', '--model-mode', 'record', '--recording', 'nowhere/r.json'],
      'The folder for the recording r.json does not exist.',
      { ANTHROPIC_API_KEY: 'a-key-of-mine' },
    ],
    [
      ['--task', 'x'],
      'ANTHROPIC_API_KEY contains a character that is not allowed in a key.',
      { ANTHROPIC_API_KEY: 'a-key-of-mine\n' },
    ],
    [['--task', 'x'], 'claude is not on the PATH.', { PATH: '/nowhere:.:' }],
    [
      ['--task', 'x'],
      'claude is version 1.0.9. Supported versions are',
      { PATH: `${path.join(place.cwd, 'other')}:/usr/bin:/bin` },
    ],
    [['--task-file', 'long.md'], 'The task is too long: 1000000 bytes'],
    [['--task', 'x', '--dir', dirty], 'The work tree has uncommitted changes in 1 file.'],
    [['--task', 'x', '--dir', 'broken'], "The agent's folder has a .git that git cannot read."],
    [
      ['--task', 'x', '--policy', 'contrary.yaml'],
      'The agent policy is not valid:\n  line 3: allowed_paths must be empty or absent because execution_posture is "read_only".',
    ],
    [
      ['--task', 'x', '--model-mode', 'replay', '--recording', 'recorded.json'],
      'recorded.json is a recording of Codex and cannot be replayed for Claude',
    ],
  ];
  for (const [flags, sentence, env] of refused) {
    const { code, stderr } = world.tried(
      ['run', 'agent', '--agent', 'claude', '--dir', world.repository, ...flags],
      env,
    );
    expect(stderr).toContain(`error: ${sentence}`);
    expect(code, sentence).toBe(2);
  }
  expect(world.place.runFolders()).toEqual([]);
});

import { describe, expect, test } from 'vitest';
import type { AgentCall } from '../../src/adapters/agent.ts';
import { claudeCli } from '../../src/adapters/claude-cli.ts';
import { codexCli } from '../../src/adapters/codex-cli.ts';
import type { EffectivePolicy } from '../../src/contracts/agent-step/policy.ts';
import { CALL } from './calls-made.ts';

const callWith = (policy: Partial<EffectivePolicy>, changes: Partial<AgentCall> = {}): AgentCall => ({
  ...CALL,
  ...changes,
  policy: { ...CALL.policy, ...policy },
});

describe('Claude', () => {
  const FIRST = '--print --verbose --output-format stream-json --permission-prompts none --permission-mode';
  const LAST =
    '--strict-mcp-config --setting-sources  --settings /opt/proctor/settings.json --session-id 11111111-2222-4333-8444-555555555555 --no-session-persistence';
  const NO_WEB = '--disallowedTools WebFetch,WebSearch';

  const READING = '--tools Read,Glob,Grep --allowedTools Read,Glob,Grep';
  const READING_WEB = '--tools Read,Glob,Grep,WebFetch,WebSearch --allowedTools Read,Glob,Grep,WebFetch,WebSearch';
  const WRITING = '--allowedTools Bash,Read,Glob,Grep';
  const WRITING_ALL = '--allowedTools Bash,Read,Glob,Grep,Edit,Write,NotebookEdit';

  const rows: [Partial<EffectivePolicy>, string][] = [
    [{ execution_posture: 'read_only' }, `dontAsk ${READING} ${NO_WEB}`],
    [{ execution_posture: 'read_only', approval_posture: 'fail_on_prompt' }, `dontAsk ${READING} ${NO_WEB}`],
    [{ execution_posture: 'read_only', approval_posture: 'bounded_auto_approve' }, `dontAsk ${READING} ${NO_WEB}`],
    [{ execution_posture: 'read_only', network_posture: 'allow' }, `dontAsk ${READING_WEB}`],
    [{}, `acceptEdits ${WRITING} ${NO_WEB}`],
    [{ approval_posture: 'fail_on_prompt' }, `acceptEdits ${WRITING} ${NO_WEB}`],
    [{ approval_posture: 'bounded_auto_approve' }, `acceptEdits ${WRITING_ALL} ${NO_WEB}`],
    [{ network_posture: 'allow' }, `acceptEdits ${WRITING},WebFetch,WebSearch`],
    [
      { network_posture: 'allow', approval_posture: 'bounded_auto_approve' },
      `acceptEdits ${WRITING_ALL},WebFetch,WebSearch`,
    ],
  ];
  test.each(rows)('gets the expected arguments under %j', (policy, middle) => {
    expect(claudeCli.invoke(callWith(policy)).args.join(' ')).toBe(`${FIRST} ${middle} ${LAST}`);
  });

  test('gets no --permission-prompts in an older version', () => {
    expect(claudeCli.invoke(callWith({}, { version: '2.1.197' })).args.join(' ')).toBe(
      `${FIRST.replace(' --permission-prompts none', '')} acceptEdits ${WRITING} ${NO_WEB} ${LAST}`,
    );
  });

  test('gets the model and the limits that it enforces', () => {
    const { args } = claudeCli.invoke(callWith({}, { model: 'opus', maxTurns: 3, maxCostUsd: 0.5 }));
    expect(args.slice(-6)).toEqual(['--model', 'opus', '--max-turns', '3', '--max-budget-usd', '0.5']);
  });

  test('gets the model proxy in its settings, and nothing in its environment', () => {
    const { files, env, lastMessageFile } = claudeCli.invoke(
      callWith({}, { door: { url: 'http://127.0.0.1:8417', token: "it's", as: 'key' } }),
    );
    expect(env).toEqual({});
    expect(lastMessageFile).toBeUndefined();
    expect(Object.keys(files)).toEqual(['settings.json']);
    expect(JSON.parse(files['settings.json']?.text ?? '')).toEqual({
      apiKeyHelper: String.raw`echo 'it'\''s'`,
      env: {
        ANTHROPIC_BASE_URL: 'http://127.0.0.1:8417',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_MAX_RETRIES: '2',
      },
    });
  });

  test('gets no key and no address without a model proxy', () => {
    const { files } = claudeCli.invoke(callWith({}, { door: undefined }));
    const settings = JSON.parse(files['settings.json']?.text ?? '') as { env: object };
    expect(Object.keys(settings)).toEqual(['env']);
    expect(Object.keys(settings.env)).not.toContain('ANTHROPIC_BASE_URL');
  });
});

describe('Codex', () => {
  const FIRST = 'exec --json --ephemeral --ignore-user-config --ignore-rules --skip-git-repo-check -s';
  const PLACES = '-C /work -o /agent/home/last-message.txt';
  const PROVIDER =
    '-c model_provider="proctor" -c model_providers.proctor.name="Proctor" -c model_providers.proctor.base_url="http://127.0.0.1:8417"' +
    ' -c model_providers.proctor.wire_api="responses" -c model_providers.proctor.env_key="PROCTOR_MODEL_KEY"' +
    ' -c model_providers.proctor.request_max_retries=2 -c model_providers.proctor.stream_max_retries=2';
  const QUIET = '-c features.plugins=false -c analytics.enabled=false -c otel.metrics_exporter="none"';
  const NO_SEARCH = '-c web_search="disabled"';

  const rows: [Partial<EffectivePolicy>, boolean, string][] = [
    [{}, false, `danger-full-access ${PLACES} ${PROVIDER} ${QUIET} ${NO_SEARCH}`],
    [{ execution_posture: 'read_only' }, false, `danger-full-access ${PLACES} ${PROVIDER} ${QUIET} ${NO_SEARCH}`],
    [{ network_posture: 'allow' }, false, `danger-full-access ${PLACES} ${PROVIDER} ${QUIET}`],
    [{}, true, `workspace-write ${PLACES} ${PROVIDER} ${QUIET} ${NO_SEARCH}`],
    [{ approval_posture: 'fail_on_prompt' }, true, `workspace-write ${PLACES} ${PROVIDER} ${QUIET} ${NO_SEARCH}`],
    [{ execution_posture: 'read_only' }, true, `read-only ${PLACES} ${PROVIDER} ${QUIET} ${NO_SEARCH}`],
    [{ execution_posture: 'read_only', network_posture: 'allow' }, true, `read-only ${PLACES} ${PROVIDER} ${QUIET}`],
    [
      { network_posture: 'allow' },
      true,
      `workspace-write ${PLACES} ${PROVIDER} ${QUIET} -c sandbox_workspace_write.network_access=true`,
    ],
  ];
  test.each(rows)(
    'gets the expected arguments under %j with a working sandbox: %j',
    (policy, nestedSandbox, middle) => {
      const { args, env } = codexCli.invoke(callWith(policy, { version: '0.166.0', nestedSandbox }));
      expect(args.join(' ')).toBe(`${FIRST} ${middle} -`);
      expect(env).toEqual({ PROCTOR_MODEL_KEY: 'tok-1' });
    },
  );

  test('gets a provider without a key if there is no model proxy, and a message that says so', () => {
    const { args, env, files, lastMessageFile } = codexCli.invoke(callWith({}, { door: undefined, model: 'gpt-5.5' }));
    const nowhere = PROVIDER.replace('8417', '9').replace(
      'KEY"',
      'KEY" -c model_providers.proctor.env_key_instructions="The key for the model API is missing. Set OPENAI_API_KEY."',
    );
    expect(args.join(' ')).toBe(`${FIRST} danger-full-access ${PLACES} -m gpt-5.5 ${nowhere} ${QUIET} ${NO_SEARCH} -`);
    expect({ env, files, lastMessageFile }).toEqual({ env: {}, files: {}, lastMessageFile: 'last-message.txt' });
  });

  test('notes that its sandbox is off if the sandbox cannot start', () => {
    expect(codexCli.invoke(callWith({})).notes[0]).toMatch(/is off, because it cannot start inside Proctor's sandbox/);
    expect(codexCli.invoke(callWith({}, { nestedSandbox: true })).notes[0]).toMatch(/runs commands in its own sandbox/);
    expect(codexCli.invoke(callWith({}, { maxTurns: 3 })).notes.at(-1)).toMatch(/Proctor counts turns/);
  });
});

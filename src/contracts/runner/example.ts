import type { Runner } from './shape.ts';

/** The example in the specification, which also states its hash. */
export const runnerExample: Runner = {
  runner_schema_version: '1.0.0',
  runner_id: 'runner_20260106_120000_abc123',
  runner_version: '0.3.15',
  platform: { os: 'linux', arch: 'x64', node_version: 'v24.11.1', npm_version: '10.9.2' },
  sandbox: { backend: 'process', isolation_level: 'standard', network_blocked: true, filesystem_readonly: false },
  limits: { timeout_ms: 60000, max_output_files: 500, max_total_output_bytes: 52428800 },
  commands: { allowlist: ['node', 'npm', 'npx'], blocklist: [], shell: '/bin/sh' },
  write_roots: ['build', 'dist', 'out', 'tmp'],
  context: {
    working_dir: '.',
    env_allowlist: ['LANG', 'LC_ALL', 'NODE_ENV', 'TZ'],
    locale: 'en_US.UTF-8',
    timezone: 'UTC',
  },
  timing: { started_at: '2026-01-06T12:00:00.000Z', completed_at: '2026-01-06T12:00:05.000Z', duration_ms: 5000 },
  exit: { code: 0, oom_killed: false, timeout_killed: false },
};

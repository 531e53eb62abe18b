import { type Contract, MIB } from '../contract.ts';
import { scriptOutcomeRules } from './rules.ts';
import { type ScriptOutcome, scriptOutcomeShape } from './shape.ts';

export type { ScriptOutcome };

const example: ScriptOutcome = {
  schema_version: 'script-outcome.v1',
  run_id: 'script_20260403_101500_4f1c9a7be210',
  status: 'succeeded',
  claimed_status: 'succeeded',
  reason: null,
  public_message: null,
  correlation_id: '7hq2m4x0c9da',
  timeout_source: null,
  salvaged: false,
  ending: { how: 'exited', code: 0 },
  result: {
    sha256: 'sha256:1234c0ffee5678deca0de9abcdef01234c0ffee5678deca0de9abcdef0123456',
    bytes: 2_214,
    unknown_keys: ['rows'],
  },
  streams: [
    {
      name: 'stdout',
      bytes_total: 312,
      sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
      bytes_kept: 312,
      truncated: false,
      masked: 1,
    },
    {
      name: 'stderr',
      bytes_total: 0,
      sha256: 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      bytes_kept: 0,
      truncated: false,
      masked: 0,
    },
  ],
  cuts: [{ what: 'html_output', bytes_total: 1_400_000, bytes_kept: 1_000_000 }],
  replaced: ['error_summary'],
  artifacts: { files: 2, bytes: 120_312, declared_missing: ['output/chart.png'], undeclared: 1, size_mismatches: 0 },
  enforcement: {
    memory: 'cgroup_v2',
    pids: 'cgroup_v2',
    cpu: 'rlimit',
    output: 'tmpfs',
    seccomp: true,
    user: true,
    kill: 'pid_namespace',
  },
  observed: [
    { what: 'network', held: true, note: 'A connection to an outside address was refused.' },
    { what: 'file_system', held: true, note: 'A write outside the write roots was refused.' },
  ],
  limits: { pids: 256, idle_timeout_ms: null, open_files: 1_024 },
  usage: { cpu_ms: 1_240, memory_peak_bytes: 38_797_312, forks_denied: 0 },
};

export const scriptOutcome: Contract = {
  name: 'script-outcome',
  title: 'Script outcome',
  tells: 'How a script actually ended, and what Proctor truncated, replaced, counted and enforced.',
  schemaTells:
    'How a script really ended, and what Proctor cut, replaced, counted and enforced. (Run folder of Proctor)',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'script-outcome.v1' },
  shape: scriptOutcomeShape,
  rules: scriptOutcomeRules,
  unknownKeys: 'SO1',
  programText: ['result.unknown_keys', 'artifacts.declared_missing', 'masking'],
  beyond: ['whether the limits were enforced as stated', 'the parts of a stream that were not kept'],
  bytesMax: MIB,
  example,
};

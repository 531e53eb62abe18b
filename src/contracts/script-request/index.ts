import { type Contract, MIB } from '../contract.ts';
import { scriptRequestRules } from './rules.ts';
import { type ScriptRequest, scriptRequestShape } from './shape.ts';

export { bareNameFault } from './bare-name.ts';
export type { ScriptRequest };

const example: ScriptRequest = {
  schema_version: 'script-request.v1',
  run_id: 'script_20260403_101500_4f1c9a7be210',
  kind: 'script',
  script: {
    name: 'sum.py',
    sha256: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
    bytes: 812,
  },
  interpreter: { name: 'python3' },
  args: ['--column', 'amount', '--token', '[masked]'],
  inputs: [
    {
      name: 'orders.csv',
      sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
      bytes: 48_213,
    },
  ],
  env_names: ['LANG', 'SHOP_TOKEN'],
  secret_names: ['SHOP_TOKEN'],
  requested: {
    profile: 'strict',
    sandbox: null,
    isolation: 'strict',
    timeout_ms: 60_000,
    idle_timeout_ms: 20_000,
    memory_bytes: 536_870_912,
    cpu_seconds: 30,
    pids: 64,
    max_output_files: 100,
    max_total_output_bytes: 10_485_760,
  },
};

export const scriptRequest: Contract = {
  name: 'script-request',
  title: 'Script request',
  tells: 'The request for a script run: the script, its arguments, its inputs and the limits.',
  schemaTells:
    'What was asked for: which script, with which arguments and inputs, under which limits. (Run folder of Proctor)',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'script-request.v1' },
  shape: scriptRequestShape,
  rules: scriptRequestRules,
  unknownKeys: 'SQ1',
  programText: ['args'],
  beyond: ['whether the script and its inputs still exist', 'the values of the variables'],
  bytesMax: 16 * MIB,
  example,
};

import { type Contract, MIB } from '../contract.ts';
import { runnerExample } from './example.ts';
import { runnerRules } from './rules.ts';
import { type Runner, runnerShape } from './shape.ts';

export type { Runner };

/** The keys that are equal for two runs in the same environment. */
const environment = [
  'runner_schema_version',
  'runner_version',
  'platform',
  'sandbox',
  'limits',
  'commands',
  'write_roots',
  'context',
] as const satisfies readonly (keyof Runner)[];

/** RunnerCore: everything but `ephemeral` and `timing`. */
const core = [...environment, 'runner_id', 'exit', 'warnings'] as const satisfies readonly (keyof Runner)[];

export const runner: Contract = {
  name: 'runner',
  title: 'Runner record',
  tells: 'How a run was executed: platform, sandbox, limits, permissions and exit status.',
  source: 'Runner Specification 1.0.0',
  version: { field: 'runner_schema_version', value: '1.0.0' },
  fileNames: ['runner.json'],
  shape: runnerShape,
  rules: runnerRules,
  unknownKeys: 'RN11',
  canonicalBytes: 'RN12',
  core,
  environment,
  programText: ['commands.shell'],
  unique: { field: 'runner_id', rule: 'RN2' },
  beyond: [
    'whether the sandbox enforced what the record says',
    'whether a record outside this file or folder has the same runner_id',
  ],
  bytesMax: MIB,
  example: runnerExample,
};

import { builtInProfiles } from '../profile/built-in.ts';
import { type Contract, MIB } from '../contract.ts';
import { runResultRules } from './rules.ts';
import { type RunResult, runResultShape } from './shape.ts';

export type { RunResult };

const example: RunResult = {
  run_schema_version: '1.0.0',
  run_id: 'hr_mk2p1x0_5f3a9c1e',
  started_at: '2026-01-06T12:00:00.000Z',
  completed_at: '2026-01-06T12:00:05.000Z',
  kernel_version: '0.3.15',
  policy: builtInProfiles.default,
  intent: {
    path: 'intents/report.json',
    sha256: 'sha256:1fbb1ecc1c0cc0a3de60072c07fb3a779ac08c2fb4ce3c92108f2a1d4334621e',
  },
  bundle: {
    bundle_id: 'bundle_b5ff6ffa17f9c54b',
    sha256: 'sha256:eed51490789276a3904052c9fdd59a000675acdb2ec6a41f9f7379c99722f6e9',
  },
  kernel_result_kind: 'BUNDLE',
  execution: {
    sandbox_id: 'sandbox_3083388bf9cb9c25',
    cmd: ['node', 'build.mjs'],
    exit_code: 0,
    stdout_sha256: 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    stderr_sha256: 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    outputs: [
      {
        path: 'out/report.md',
        sha256: 'sha256:caf0f4c88a68c05c236b187237e42fefa5a1bdac347b4104d4ee9aecfb79b476',
        size_bytes: 2_048,
      },
    ],
    total_output_bytes: 2_048,
    output_truncated: false,
  },
  decision: { accepted: true, reasons: ['all commands succeeded'], validated_by_kernel: true },
  model_mode: 'none',
};

export const runResult: Contract = {
  name: 'run-result',
  title: 'Run result',
  tells: 'The result of an intent: a bundle, questions or a refusal, and whether it was accepted.',
  source: 'Run Result Specification 1.0.0',
  version: { field: 'run_schema_version', value: '1.0.0' },
  shape: runResultShape,
  rules: runResultRules,
  unknownKeys: 'RS7',
  canonicalBytes: 'RS7',
  namesProfile: true,
  programText: ['clarify_questions', 'execution.cmd', 'execution.outputs'],
  claims: function* ({ intent, bundle, execution }: RunResult) {
    yield { at: 'intent.sha256', file: 'intent.json', sha256: intent.sha256, optional: true };
    if (bundle) yield { at: 'bundle.sha256', file: 'bundle.json', documentSha256: bundle.sha256, optional: true };
    for (const [index, { path, sha256, size_bytes }] of (execution?.outputs ?? []).entries()) {
      yield { at: `execution.outputs[${index}]`, file: `output/${path}`, sha256, bytes: size_bytes };
    }
  },
  beyond: ['whether the intent and the bundle match their hashes, unless they are next to it'],
  bytesMax: 16 * MIB,
  example,
};

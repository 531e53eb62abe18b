import type { Contract } from './contract.ts';

/** How to recognize a document of one format, and how to load its contract on demand. */
export interface CatalogueEntry {
  /** The key that identifies the format, and its value. */
  readonly field?: string;
  readonly value?: string | number;
  /** A second key that must be present, because other tools use the same `field`. */
  readonly alsoHas?: string;
  /** File names that identify a document without that key. */
  readonly fileNames?: readonly string[];
  readonly load: () => Promise<Contract>;
}

export const catalogue: Readonly<Record<string, CatalogueEntry>> = {
  runner: {
    field: 'runner_schema_version',
    value: '1.0.0',
    fileNames: ['runner.json'],
    load: async () => (await import('./runner/index.ts')).runner,
  },
  'run-result': {
    field: 'run_schema_version',
    value: '1.0.0',
    load: async () => (await import('./run-result/index.ts')).runResult,
  },
  'run-error': { load: async () => (await import('./run-error/index.ts')).runError },
  profile: { fileNames: ['policy.json'], load: async () => (await import('./profile/index.ts')).profile },
  'script-result': {
    field: 'contract_version',
    value: 1,
    alsoHas: 'status',
    load: async () => (await import('./script-result/index.ts')).scriptResult,
  },
  'script-request': ours('script-request.v1', async () => (await import('./script-request/index.ts')).scriptRequest),
  'script-outcome': ours('script-outcome.v1', async () => (await import('./script-outcome/index.ts')).scriptOutcome),
  intent: ours('intent.v1', async () => (await intents()).intent, ['intent.json']),
  'intent-request': ours('intent-request.v1', async () => (await intents()).intentRequest),
  'intent-outcome': ours('intent-outcome.v1', async () => (await intents()).intentOutcome),
  bundle: ours('bundle.v1', async () => (await intents()).bundle, ['bundle.json']),
  'model-io': {
    field: 'model_io_schema_version',
    value: '1.0.0',
    fileNames: ['model_io.json'],
    load: async () => (await intents()).modelIo,
  },
  recording: ours('recording.v1', async () => (await import('./recording/index.ts')).recording, ['recording.json']),
  seal: ours('seal.v1', async () => (await import('./seal/index.ts')).seal, ['seal.json']),
  'judgement-seal': ours('judgement-seal.v1', async () => (await import('./judgement-seal/index.ts')).judgementSeal, [
    'evaluation.seal.json',
    'comparison.seal.json',
  ]),
  expiry: ours('expiry.v1', async () => (await import('./expiry/index.ts')).expiry, ['expired.json']),
  pack: ours('pack.v1', async () => (await import('./pack/index.ts')).pack),
  'agent-policy': ours('agent-policy.v1', async () => (await import('./agent-policy/index.ts')).agentPolicy),
  checks: ours('checks.v1', async () => (await import('./checks/index.ts')).checksFile),
  'check-result': ours('check-result.v1', async () => (await import('./check-result/index.ts')).checkResult),
  'model-prices': ours('model-prices.v1', async () => (await import('./model-prices/index.ts')).modelPrices),
  'agent-request': ours('agent-request.v1', async () => (await agentStep()).agentRequest),
  'agent-result': ours('agent-result.v1', async () => (await agentStep()).agentResult),
  'agent-outcome': ours('agent-outcome.v1', async () => (await agentStep()).agentOutcome),
  'runner-metadata': ours('runner-metadata.v1', async () => (await agentStep()).runnerMetadata, [
    'runner_metadata.json',
  ]),
  'step-manifest': ours('step-manifest.v1', async () => (await agentStep()).stepManifest),
  'policy-summary': ours('policy-summary.v1', async () => (await agentStep()).policySummary, ['policy_summary.json']),
  'transcript-line': ours('transcript-line.v1', async () => (await transcript()).transcriptLine),
  'workspace-status': ours('workspace-status.v1', async () => (await import('./workspace/index.ts')).workspaceStatus, [
    'workspace_status.json',
  ]),
  event: ours('event.v1', async () => (await agentStep()).stepEvent),
  status: ours('status.v1', async () => (await agentStep()).status, ['status.json']),
  metadata: ours('metadata.v1', async () => (await agentStep()).metadata, ['metadata.json']),
  run: ours('run.v1', async () => (await artifacts()).runArtifact),
  case: ours('case.v1', async () => (await artifacts()).caseArtifact),
  'failure-meta': ours('failure-meta.v1', async () => (await artifacts()).failureMeta),
  'assets-manifest': ours('assets-manifest.v1', async () => (await artifacts()).assetsManifest),
  target: ours('target.v1', async () => (await import('./target/index.ts')).target),
  project: ours('project.v1', async () => (await import('./project/index.ts')).project),
  'published-script': ours(
    'published-script.v1',
    async () => (await import('./published-script/index.ts')).publishedScript,
  ),
  'published-request': ours(
    'published-request.v1',
    async () => (await import('./published-request/index.ts')).publishedRequest,
  ),
  cases: ours('cases.v1', async () => (await suite()).cases),
  'suite-case': ours('suite-case.v1', async () => (await suite()).suiteCase),
  'suite-reply': ours('suite-reply.v1', async () => (await suite()).suiteReply),
  'suite-request': ours('suite-request.v1', async () => (await suite()).suiteRequest),
  'suite-part': ours('suite-part.v1', async () => (await import('./suite-part/index.ts')).suitePart),
  'attempt-request': ours(
    'attempt-request.v1',
    async () => (await import('./attempt-request/index.ts')).attemptRequest,
  ),
  'attempt-outcome': ours(
    'attempt-outcome.v1',
    async () => (await import('./attempt-outcome/index.ts')).attemptOutcome,
  ),
  'made-twice': ours('made-twice.v1', async () => (await import('./made-twice/index.ts')).madeTwice),
  evaluation: ours('evaluation.v1', async () => (await import('./evaluation/index.ts')).evaluation, [
    'evaluation.json',
  ]),
  'agent-evaluation': ours(
    'agent-evaluation.v1',
    async () => (await import('./agent-evaluation/index.ts')).agentEvaluation,
  ),
  comparison: ours('comparison.v1', async () => (await import('./comparison/index.ts')).comparison),
  baseline: ours('baseline.v1', async () => (await import('./baseline/index.ts')).baseline),
  gate: ours('gate.v1', async () => (await import('./gate/index.ts')).gate),
  'ledger-line': ours('ledger-line.v1', async () => (await import('./ledger/index.ts')).ledgerLine),
};

const agentStep = () => import('./agent-step/index.ts');
const transcript = () => import('./agent-step/transcript-line.ts');
const intents = () => import('./intent/index.ts');
const artifacts = () => import('./artifacts/index.ts');
const suite = () => import('./suite/index.ts');

function ours(value: string, load: () => Promise<Contract>, fileNames?: readonly string[]): CatalogueEntry {
  return { field: 'schema_version', value, load, ...(fileNames && { fileNames }) };
}

export const contractNames: readonly string[] = Object.keys(catalogue);

export async function loadContracts(): Promise<Contract[]> {
  return Promise.all(Object.values(catalogue).map(({ load }) => load()));
}

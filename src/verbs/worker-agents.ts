import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { contentHash } from '../base/hash.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import { OWN_FOLDER } from '../base/private.ts';
import { agentPolicy } from '../contracts/agent-policy/index.ts';
import { type AttemptQuestion, TREE_BYTES_MAX } from '../contracts/attempt-request/index.ts';
import { modelPrices } from '../contracts/model-prices/index.ts';
import type { Signer } from '../contracts/seal/index.ts';
import type { SuiteCase, SuiteTarget } from '../contracts/suite/index.ts';
import { checkSource } from '../execute/worktree/clone.ts';
import { modelFor } from '../run/agent/model.ts';
import { type AgentOrder, checkAgentOrder } from '../run/agent/order.ts';
import { programFor } from '../run/agent/program.ts';
import { readAgentPolicy } from '../run/agent/read-policy.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { agentTarget, namedAgent, caseTask } from '../run/suite/agent-target.ts';
import { agentNeeds } from '../run/suite/attempt-question.ts';
import { caseOrder, type SuiteAgentOrder } from '../run/suite/case-order.ts';
import { settingsFrom } from '../run/suite/settings.ts';
import { NotBegun, type Target } from '../run/suite/target.ts';
import type { BlobStore } from '../store/store.ts';
import { sharedLauncher } from './launcher.ts';
import { opensNetwork } from './sent-agents.ts';
import { sendingTarget } from './sent-runs.ts';
import { namedBlob } from './worker-blobs.ts';

type AgentTarget = Extract<SuiteTarget, { kind: 'agent' }>;

/** What a worker needs to run agents. */
export interface AgentWorker {
  readonly allowed: readonly string[];
  readonly store: BlobStore | undefined;
  /** Where the runs of this worker lie until the queue has their outcomes. */
  readonly home: string;
  readonly signer: Signer;
  /** Where Proctor looks up the programs of agents and the credentials of their models. */
  readonly environment: AgentOrder['environment'];
}

/** Reads `--allow-agent`. Rejects an agent that Proctor does not know. */
export function allowedAgents(words: readonly string[]): readonly string[] {
  for (const agent of words) checkAgentOrder({ ...ANY_ORDER, agent });
  return [...new Set(words)];
}

const ANY_ORDER = { task: 'any', dir: '.', policy: 'read-only', environment: {}, cwd: '.' };

/** The agents of this machine as requests name them. Throws if one is missing, or has no model. */
export async function offeredAgents({ allowed, home, environment }: AgentWorker): Promise<string[]> {
  const launcher = await sharedLauncher();
  const offer = offersOf(await launcher.machine()).find(({ sandbox }) => sandbox === 'process');
  if (!offer || offer.unusable !== undefined)
    throw new Fault(
      'sandbox_unavailable',
      `${offer?.unusable ?? ''} Run proctor doctor to see how to install them.`.trim(),
    );
  const isolations = offer.isolation === 'strict' ? (['strict', 'standard'] as const) : (['standard'] as const);
  const needs: string[] = [];
  for (const name of allowed) {
    const order = { ...ANY_ORDER, agent: name, environment, needsModel: true };
    const adapter = checkAgentOrder(order);
    modelFor(order, adapter);
    const { version, sha256 } = await programFor(order, adapter, { launcher, home, signer: undefined });
    for (const isolation of isolations) needs.push(agentNeeds({ name, version, isolation, sha256 }));
  }
  return needs;
}

/** Opens the agent of an attempt. Rejects if this worker must not or cannot run it, before anything has begun. */
export async function workerAgent(question: AttemptQuestion, worker: AgentWorker): Promise<Target> {
  const { target, agent, settings: written, version: side, keep_credentials: keepCredentials } = question;
  if (target.kind !== 'agent' || !agent) throw new Fault('attempt_request', 'The attempt names no agent.');
  const { allowed, home, signer } = worker;
  if (!allowed.includes(target.name))
    throw new Fault('not_offered', 'This worker may not run this agent. Allow it with --allow-agent.');
  const within = path.join(home, 'agents');
  mkdirSync(within, { recursive: true, mode: OWN_FOLDER });
  const folder = mkdtempSync(path.join(within, 'agent-'));
  const close = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
  try {
    const settings = settingsFrom(written);
    const { timeoutMs, idleMs } = settings;
    const fetched = await fetchedOrder(target, agent.tree, worker, folder);
    const order: SuiteAgentOrder = { ...fetched, timeoutMs, idleMs, ...(keepCredentials && { keepCredentials }) };
    if (opensNetwork(readAgentPolicy(order.policy, order.cwd).policy))
      throw new Fault('not_offered', 'The policy of the agent opens the network, which workers do not allow.');
    await refuseOther(target, order, folder, home);
    const commit = await checkSource({ repository: order.repository as string }, false);
    if (commit !== agent.tree.commit)
      throw new Fault('attempt_request', 'The tree of the agent is at another commit than the suite names.');
    const own = { launcher: sharedLauncher, home, signer, settings };
    // The conductor compares what the agent says with what it did.
    const silent = { recordings: undefined, repetition: 1, claimsIn: async () => [] };
    const asked = agentTarget({ ...own, ...silent, order, side, casesDir: folder });
    const sending = sendingTarget(asked, 'agent', home);
    const ask: Target['ask'] = async one => {
      refuseMasked(one.one, order, folder);
      return sending.ask(one);
    };
    return { ...sending, ask, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The evidence would have another task or check, and the conductor would refuse it after the agent ran. */
function refuseMasked(one: SuiteCase, order: SuiteAgentOrder, folder: string): void {
  const whole = { ...order, task: 'any' };
  const model = modelFor(whole, checkAgentOrder(whole));
  const secrets = model.kind === 'live' ? model.secrets : [];
  const { checks = [] } = caseOrder(order, one, folder);
  for (const text of [caseTask(one), ...checks.map(({ command }) => command)])
    if (new Masker(maskingOf(secrets)).text(text) !== new Masker(maskingOf([])).text(text))
      throw new NotBegun('not_offered', 'The case contains the model key of this worker, which it would mask.');
}

/** Writes the policy, the prices and the tree into a new folder. They come from a store that others write to. */
async function fetchedOrder(
  target: AgentTarget,
  tree: NonNullable<AttemptQuestion['agent']>['tree'],
  { store, environment }: AgentWorker,
  folder: string,
): Promise<SuiteAgentOrder> {
  const at = (name: string): string => path.join(folder, name);
  const policy = { what: 'policy', sha256: target.policy_sha256, bytesMax: agentPolicy.bytesMax };
  writeFileSync(at('policy.json'), await namedBlob(store, policy));
  const prices = target.prices_sha256;
  if (prices !== undefined)
    writeFileSync(
      at('prices.json'),
      await namedBlob(store, { what: 'price file', sha256: prices, bytesMax: modelPrices.bytesMax }),
    );
  const { sha256, bytes } = tree;
  writeFileSync(at(TREE), await namedBlob(store, { what: 'tree', sha256, bytes, bytesMax: TREE_BYTES_MAX }));
  const { name: agent, model, max_turns, max_requests, max_tokens, max_cost_usd } = target;
  return {
    agent,
    policy: at('policy.json'),
    repository: at(TREE),
    cwd: folder,
    environment,
    needsModel: true,
    ...(prices !== undefined && { prices: at('prices.json') }),
    ...(model !== undefined && { model }),
    ...(max_turns !== undefined && { maxTurns: max_turns }),
    ...(max_requests !== undefined && { maxRequests: max_requests }),
    ...(max_tokens !== undefined && { maxTokens: max_tokens }),
    ...(max_cost_usd !== undefined && { maxCostUsd: max_cost_usd }),
  };
}

const TREE = 'tree.bundle';

/** The target that the order gives on this machine must be the one that the suite names. */
async function refuseOther(target: AgentTarget, order: SuiteAgentOrder, folder: string, home: string): Promise<void> {
  const around = { launcher: await sharedLauncher(), home, signer: undefined };
  const { target: here } = await namedAgent(order, { folder, setups: [] }, around);
  if (here.kind !== 'agent' || here.version !== target.version || here.sha256 !== target.sha256)
    throw new Fault('other_agent', `This machine now has another version of ${target.name}. Start the worker again.`);
  if (target.isolation === 'strict' && here.isolation !== 'strict')
    throw new Fault('not_enforceable', 'This worker cannot isolate the agent as strictly as the suite requires.');
  // The tree is the one of the base.
  const named = { ...here, isolation: target.isolation, ...(target.base !== undefined && { base: target.base }) };
  if (contentHash(named) !== contentHash(target))
    throw new Fault('attempt_request', 'The attempt asks for another policy or other limits than its target has.');
}

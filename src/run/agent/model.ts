import type { AgentAdapter } from '../../adapters/agent.ts';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { bytesHash } from '../../base/hash.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { CredentialKind, Recording } from '../../contracts/recording/index.ts';
import { type Door, openDoor } from '../../execute/model/door.ts';
import { countOf } from '../../execute/model/door-counter.ts';
import { proxyFor } from '../../execute/model/proxy.ts';
import { openRecording } from '../../execute/model/recording.ts';
import type { UpstreamOptions } from '../../execute/model/upstream.ts';
import type { AgentLimits } from '../../policy/agent-limits.ts';
import type { CheckedAgentRun } from './agent.ts';
import { readLogin } from './login.ts';
import type { AgentOrder } from './order.ts';

/** How an agent reaches its model. */
export type ModelAccess =
  | { readonly kind: 'none'; readonly why: string; readonly session?: undefined }
  | ({ readonly kind: 'live'; readonly session?: undefined } & Opened)
  | ({ readonly kind: 'record'; readonly file: string; readonly session?: undefined } & Opened)
  | {
      readonly kind: 'replay';
      readonly recording: Recording;
      readonly file: string;
      readonly session: string;
      readonly as: CredentialKind;
    };

/** A model API and its credential. */
interface Opened {
  readonly upstream: UpstreamOptions;
  readonly as: CredentialKind;
  /** The name of the credential. */
  readonly credential: NonNullable<AgentOutcome['model_access']['credential']>;
  /** Keys, tokens and proxy passwords to mask. */
  readonly secrets: readonly string[];
}

/** Decides where the model's answers come from, before anything is created. */
export function modelFor(order: AgentOrder, adapter: AgentAdapter): ModelAccess {
  const { modelMode = 'live', recording, needsModel, login = 'env' } = order;
  if (modelMode === 'replay') {
    const opened = openRecording(recording as string, adapter.family);
    const { session_id: session, credential: as = 'key' } = opened;
    return { kind: 'replay', recording: opened, file: recording as string, session, as };
  }
  const opened = login === 'env' ? openedByVariable(order, adapter) : openedByLogin(order, adapter);
  if (opened)
    return modelMode === 'record'
      ? { kind: 'record', ...opened, file: recording as string }
      : { kind: 'live', ...opened };
  const names = variablesOf(adapter);
  const unset = names.length === 1 ? `${names[0]} is not set` : `None of ${names.join(', ')} is set`;
  if (modelMode === 'record') throw new Fault('no_key', `${unset}, so Proctor cannot reach a model to record.`);
  const why = `${unset}, so ${adapter.agent} cannot reach a model.`;
  if (needsModel) throw new Fault('no_model', why);
  return { kind: 'none', why };
}

/** The variables that may hold a model credential, by precedence. */
export function variablesOf({ api }: AgentAdapter): readonly string[] {
  return api.credentials.map(({ name }) => name);
}

/** Uses the first variable that is set. API keys come first, because they belong to programs, not to people. */
function openedByVariable({ environment }: AgentOrder, { api }: AgentAdapter): Opened | undefined {
  const found = api.credentials.find(({ name }) => environment[name]);
  if (!found) return undefined;
  const key = environment[found.name] as string;
  // The key becomes a header, and a line feed in it would make every request fail.
  if (/[^\u0021-\u007e]/.test(key))
    throw new Fault('usage', `${found.name} contains a character that is not allowed in a key.`);
  const url = environment[api.urlVariable] || api.defaultUrl;
  const keyHeader = found.as === 'key' ? api.keyHeader : 'authorization';
  const proxy = proxyFor(url, environment);
  return {
    upstream: { url, key, keyHeader, ...(proxy && { proxy: proxy.url }) },
    as: found.as,
    credential: { from: 'environment', name: found.name },
    secrets: [key, ...(proxy?.secrets ?? [])],
  };
}

function openedByLogin({ environment }: AgentOrder, { agent, api }: AgentAdapter): Opened {
  const { as, urlVariable, defaultUrl } = api.login;
  const { token, headers, secrets } = readLogin(agent, api.login, environment);
  const url = environment[urlVariable] || defaultUrl;
  const proxy = proxyFor(url, environment);
  return {
    upstream: { url, key: token, keyHeader: 'authorization', headers, ...(proxy && { proxy: proxy.url }) },
    as,
    credential: { from: 'login', name: agent },
    secrets: [...secrets, ...(proxy?.secrets ?? [])],
  };
}

export function warningsOf(model: ModelAccess): string[] {
  if (model.kind === 'none') return [model.why];
  if (model.kind === 'replay' || (model.upstream.key ?? '').length >= KEY_UNITS_MIN) return [];
  const recorded = model.kind === 'record' ? ', and the recording may not replay' : '';
  return [
    `The key in ${model.credential.name} is so short that masking it changes other words${recorded}. Use a longer one.`,
  ];
}

/** Placeholders for a model without a key are often words: "any", "none", "test". */
const KEY_UNITS_MIN = 8;

/** Everything to mask: the model credential, and the caller's secrets. */
export function secretsOf({ order, model }: Pick<CheckedAgentRun, 'order' | 'model'>): string[] {
  const opening = model.kind === 'live' || model.kind === 'record' ? model.secrets : [];
  return [...opening, ...Object.values(order.secrets ?? {})];
}

/** Opens the model proxy: a socket in the sandbox, or a port if the sandbox has network access. */
export async function openDoorFor(ready: CheckedAgentRun, stage: string): Promise<Door | undefined> {
  const { model, adapter, bound, order, program, sessionId } = ready;
  if (model.kind === 'none') return undefined;
  const isOpen = bound.effective.network_posture === 'allow';
  const header = {
    agent_family: adapter.family,
    agent_version: program.version,
    api: adapter.api.kind,
    credential: model.as,
    created_at: instantText(systemClock.now()),
    task_sha256: bytesHash(order.task),
    session_id: sessionId,
  };
  return openDoor({
    keepCredentials: ready.order.keepCredentials === true,
    at: isOpen ? { kind: 'tcp' } : { kind: 'socket', stage },
    api: adapter.api.kind,
    mode: model.kind === 'record' ? { ...model, header } : model,
    network: bound.effective.network_posture,
    budget: bound.budget,
    secrets: secretsOf(ready),
  });
}

/** A run's model use, once its proxy is closed. */
export function accessOf({ model, bound }: CheckedAgentRun, door: Door | undefined): AgentOutcome['model_access'] {
  const budget = budgetOf(bound.limits);
  if (!door || model.kind === 'none')
    return { mode: 'none', requests: 0, failures: 0, recording_sha256: null, difference: null, budget };
  const isKept = model.kind === 'record' || model.kind === 'replay';
  return {
    mode: model.kind,
    ...countOf(door.stats()),
    recording_sha256: isKept ? (fileHash(model.file) ?? null) : null,
    difference: model.kind === 'replay' ? (door.difference ?? null) : null,
    budget,
    ...(model.kind !== 'replay' && { credential: model.credential }),
  };
}

/** The limits on the agent's model use, as its outcome states them. */
export function budgetOf(limits: AgentLimits): NonNullable<AgentOutcome['model_access']['budget']> {
  const { maxTurns = null, maxRequests = null, maxTokens = null, maxCostUsd = null } = limits;
  return { max_turns: maxTurns, max_requests: maxRequests, max_tokens: maxTokens, max_cost_usd: maxCostUsd };
}

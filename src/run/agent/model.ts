import type { AgentAdapter } from '../../adapters/agent.ts';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { bytesHash } from '../../base/hash.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { Recording } from '../../contracts/recording/index.ts';
import { type Door, openDoor } from '../../execute/door.ts';
import { countOf } from '../../execute/door-counter.ts';
import { openRecording } from '../../execute/recording.ts';
import type { UpstreamOptions } from '../../execute/upstream.ts';
import type { AgentLimits } from '../../policy/agent-limits.ts';
import type { Ready } from './agent.ts';
import type { AgentOrder } from './order.ts';

/** How an agent reaches its model. */
export type ModelAccess =
  | { readonly kind: 'none'; readonly why: string; readonly session?: undefined }
  | { readonly kind: 'live'; readonly upstream: UpstreamOptions; readonly session?: undefined }
  | { readonly kind: 'record'; readonly upstream: UpstreamOptions; readonly file: string; readonly session?: undefined }
  | { readonly kind: 'replay'; readonly recording: Recording; readonly file: string; readonly session: string };

/** Decides where the answers come from, before anything is made. */
export function modelFor(
  { modelMode = 'live', recording, needsModel, environment }: AgentOrder,
  adapter: AgentAdapter,
): ModelAccess {
  const { keyVariable, urlVariable, defaultUrl, keyHeader } = adapter.api;
  if (modelMode === 'replay') {
    const opened = openRecording(recording as string, adapter.family);
    return { kind: 'replay', recording: opened, file: recording as string, session: opened.session_id };
  }
  const key = environment[keyVariable];
  if (!key) {
    if (modelMode === 'record')
      throw new Fault('no_key', `${keyVariable} is not set, so there is no model whose answers could be recorded.`);
    const why = `${keyVariable} is not set, so ${adapter.agent} has no way to a model.`;
    if (needsModel) throw new Fault('no_model', why);
    return { kind: 'none', why };
  }
  // It goes out as a header; a line feed that came along from a file would make every request fail.
  if (/[^\u0021-\u007e]/.test(key)) throw new Fault('usage', `${keyVariable} holds a character that no key has.`);
  const upstream = { url: environment[urlVariable] || defaultUrl, key, keyHeader };
  return modelMode === 'record' ? { kind: 'record', upstream, file: recording as string } : { kind: 'live', upstream };
}

/** What the caller should know of the way to the model. */
export function warningsOf(model: ModelAccess, { api }: AgentAdapter): string[] {
  if (model.kind === 'none') return [model.why];
  if (model.kind === 'replay' || (model.upstream.key ?? '').length >= KEY_UNITS_MIN) return [];
  const recorded = model.kind === 'record' ? ', and what is recorded may not be had again' : '';
  return [
    `The key in ${api.keyVariable} is so short that it is masked in the midst of other words${recorded}. Take a longer one.`,
  ];
}

/** Placeholders that people give to a model without a key are words: "any", "none", "test". */
const KEY_UNITS_MIN = 8;

/** What nobody may read anywhere: the key of the model and the secrets of the caller. */
export function secretsOf({ order, model }: Pick<Ready, 'order' | 'model'>): string[] {
  const key = model.kind === 'live' || model.kind === 'record' ? model.upstream.key : undefined;
  return [...(key === undefined ? [] : [key]), ...Object.values(order.secrets ?? {})];
}

/** Opens the only way out: a socket that the sandbox sees, or a port where it has our network anyway. */
export async function openDoorFor(ready: Ready, stage: string): Promise<Door | undefined> {
  const { model, adapter, bound, order, program, sessionId } = ready;
  if (model.kind === 'none') return undefined;
  const isOpen = bound.effective.network_posture === 'allow';
  const header = {
    agent_family: adapter.family,
    agent_version: program.version,
    api: adapter.api.kind,
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
    secrets: Object.values(order.secrets ?? {}),
  });
}

/** What went through a door that is closed. */
export function accessOf({ model, bound }: Ready, door: Door | undefined): AgentOutcome['model_access'] {
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
  };
}

/** What bounds the agent's use of its model, as its outcome tells it. */
export function budgetOf(limits: AgentLimits): NonNullable<AgentOutcome['model_access']['budget']> {
  const { maxTurns = null, maxRequests = null, maxTokens = null, maxCostUsd = null } = limits;
  return { max_turns: maxTurns, max_requests: maxRequests, max_tokens: maxTokens, max_cost_usd: maxCostUsd };
}

import path from 'node:path';
import { bytesHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import type { LedgerIntent } from '../contracts/ledger/index.ts';
import { runResult } from '../contracts/run-result/index.ts';
import type { RunResult } from '../contracts/run-result/shape.ts';
import { openSeal, seal } from '../contracts/seal/index.ts';
import { SEAL } from './finish.ts';
import type { Entry } from './ledger.ts';
import { documentIn } from './read.ts';

/** What a ledger says of a run, as its sealed folder tells it; undefined if it has no seal that can be read. */
export function sealedEntry(folder: string): Entry | undefined {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const opened = reading?.ok ? openSeal(reading.value) : undefined;
  if (!bytes || !opened?.ok) return undefined;
  const { run_id, kind, sealed_at } = opened.statement.predicate;
  const intent = kind === 'intent' ? intentIn(folder) : null;
  return intent === undefined ? undefined : { run_id, kind, sealed_at, seal_sha256: bytesHash(bytes), intent };
}

/** What an intent came to. Its mode stands in its request; where that does not say it, what was executed tells. */
function intentIn(folder: string): LedgerIntent | undefined {
  const result = documentIn(folder, 'run.json', runResult) as RunResult | undefined;
  if (!result) return undefined;
  return {
    intent_sha256: result.intent.sha256,
    bundle_sha256: result.bundle?.sha256 ?? null,
    result_kind: result.kernel_result_kind,
    accepted: result.decision.accepted,
    mode: modeIn(folder) ?? (result.execution === null ? 'plan-only' : 'execute-sandbox'),
    policy: result.policy.name,
  };
}

function modeIn(folder: string): LedgerIntent['mode'] | undefined {
  const bytes = readRegular(path.join(folder, 'evidence/request.json'), REQUEST_BYTES_MAX);
  const reading = bytes && readJson(bytes, { bytesMax: REQUEST_BYTES_MAX });
  const { mode } = (reading?.ok ? (reading.value ?? {}) : {}) as { mode?: unknown };
  return mode === 'plan-only' || mode === 'execute-sandbox' ? mode : undefined;
}

const REQUEST_BYTES_MAX = 16 * 1024 * 1024;

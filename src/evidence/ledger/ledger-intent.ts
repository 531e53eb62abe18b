import path from 'node:path';
import type { LedgerIntent } from '../../contracts/ledger/index.ts';
import { type RunResult, runResult } from '../../contracts/run-result/index.ts';
import { documentIn, looseKeys } from '../document.ts';

/**
 * Summarises an intent run for the ledger. If the request states no mode, the mode is derived from whether anything
 * ran.
 */
export function intentIn(folder: string): LedgerIntent | undefined {
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
  const { mode } = looseKeys(path.join(folder, 'evidence/request.json'), REQUEST_BYTES_MAX);
  return mode === 'plan-only' || mode === 'execute-sandbox' ? mode : undefined;
}

const REQUEST_BYTES_MAX = 16 * 1024 * 1024;

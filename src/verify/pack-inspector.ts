import type { IntentRequest } from '../contracts/intent/index.ts';
import type { RunResult } from '../contracts/run-result/shape.ts';
import type { RunKind } from '../contracts/seal/index.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { LEDGER_LINE } from '../evidence/pack/pack-layout.ts';
import type { Inspector, Surroundings } from './inspector.ts';
import { PK } from './pack-rules.ts';

/** The sealed run in a pack. */
export interface PackableRun {
  readonly runId: string;
  readonly kind: RunKind;
  /** The intent part of the ledger line. */
  readonly ledger?: UncheckedLedgerIntent | undefined;
}

export type UncheckedLedgerIntent = Readonly<Record<string, unknown>>;

/**
 * PK1, PK3, PK4, PK5, PK8, PK9, and the part of PK2 that depends on the kind: judges a run folder in a pack, or
 * before packing.
 */
export function packInspector({ kind, runId, ledger }: PackableRun, surroundings: Surroundings): Inspector {
  const { tree, troubled, documentHashOf, report } = surroundings;
  const { file: main, contract: wanted, holds } = KINDS[kind];
  const breaks = (rule: keyof typeof PK, file: string, message: string, at?: string): void =>
    report({ rule: PK[rule].id, level: 'must', file, message, ...(at !== undefined && { at }) });
  let run: { readonly contract: string; readonly value: RunDocument } | undefined;
  let request: Partial<Pick<IntentRequest, 'mode'>> = {};

  function* bundle(named: RunDocument['bundle']): Generator<readonly [keyof typeof PK, string, string, string?]> {
    const isThere = tree.files.has(BUNDLE);
    if (named && !isThere) yield ['PK4', BUNDLE, `is named in ${main}, but missing`];
    if (!named && isThere) yield ['PK4', BUNDLE, `exists, although ${main} names no bundle`];
    if (troubled.has(BUNDLE)) yield ['PK4', BUNDLE, 'violates its contract'];
    if (named && isThere && named.sha256 !== documentHashOf(BUNDLE)) {
      yield ['PK5', main, `is not the hash of ${BUNDLE}`, 'bundle.sha256'];
    }
  }

  return {
    take({ file, contract, value }) {
      if (file === main) run = { contract: contract.name, value };
      if (contract.name === 'intent-request') request = value;
    },

    end() {
      for (const file of tree.paths) if (!holds.test(file)) breaks('PK2', file, `does not belong in ${A[kind]} run`);
      if (!tree.files.has(main)) breaks('PK1', main, `is missing, although it states the result of ${A[kind]}`);
      else if (troubled.has(main) || run?.contract !== wanted) breaks('PK3', main, `is not a valid ${wanted}`);
      else if (run.value.run_id !== undefined && run.value.run_id !== runId) {
        breaks('PK3', main, 'differs from the run that was sealed', 'run_id');
      }
      if (kind === 'intent' && run?.contract === wanted) for (const found of bundle(run.value.bundle)) breaks(...found);
      if (ledger && kind === 'intent' && run?.contract === wanted) {
        for (const [key, said] of Object.entries(saidOf(run.value))) {
          if (ledger[key] !== said) breaks('PK9', LEDGER_LINE, `differs from ${main}`, `intent.${key}`);
        }
        if (request.mode !== undefined && ledger['mode'] !== request.mode) {
          breaks('PK9', LEDGER_LINE, 'differs from the mode in the request', 'intent.mode');
        }
      }
      for (const file of troubled) {
        if (file !== main && file !== SEAL && !(kind === 'intent' && file === BUNDLE)) {
          breaks('PK8', file, 'violates its contract');
        }
      }
    },
  };
}

/** The fields of the main document that the pack rules use. */
interface RunDocument extends Partial<Pick<RunResult, 'intent' | 'kernel_result_kind' | 'decision' | 'policy'>> {
  readonly run_id?: string;
  readonly bundle?: { readonly sha256: string } | null;
}

/** The fields that the ledger repeats. */
function saidOf({ intent, bundle, kernel_result_kind, decision, policy }: RunDocument): UncheckedLedgerIntent {
  return {
    intent_sha256: intent?.sha256,
    bundle_sha256: bundle?.sha256 ?? null,
    result_kind: kernel_result_kind,
    accepted: decision?.accepted,
    policy: policy?.name,
  };
}

const BUNDLE = 'bundle.json';

/** For each kind of run: its main document, the contract of that document, and the files that its folder may contain. */
const KINDS: Readonly<Record<RunKind, { file: string; contract: string; holds: RegExp }>> = {
  script: { file: 'result.json', contract: 'script-result', holds: /^(?:result\.json$|output\/|evidence\/)/ },
  agent: {
    file: 'result.json',
    contract: 'agent-result',
    holds: /^(?:result\.json$|workspace\.diff$|evaluation(?:\.seal)?\.json$|evidence\/)/,
  },
  intent: {
    file: 'run.json',
    contract: 'run-result',
    holds: /^(?:(?:run|bundle|policy|intent|model_io)\.json$|output\/|evidence\/)/,
  },
  suite: { file: 'run.json', contract: 'run', holds: /^(?:[^/]+\.json$|assets\/|evidence\/)/ },
};

const A = { script: 'a script', agent: 'an agent', intent: 'an intent', suite: 'a suite' } as const;

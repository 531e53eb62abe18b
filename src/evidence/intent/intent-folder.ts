import {
  type Bundle,
  bundle,
  type Intent,
  intent,
  type IntentOutcome,
  intentOutcome,
  type IntentRequest,
  intentRequest,
} from '../../contracts/intent/index.ts';
import { type Profile, profile } from '../../contracts/profile/index.ts';
import { type RunResult, runResult } from '../../contracts/run-result/index.ts';
import { runner } from '../../contracts/runner/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { documentIn } from '../document.ts';

/** The documents of an intent run. A document that violates its contract is undefined here. */
export interface IntentFolder {
  readonly request: IntentRequest | undefined;
  readonly result: RunResult | undefined;
  readonly intent: Intent | undefined;
  readonly bundle: Bundle | undefined;
  readonly policy: Profile | undefined;
  readonly runner: Runner | undefined;
  readonly outcome: IntentOutcome | undefined;
}

export function readIntentFolder(folder: string): IntentFolder {
  return {
    request: documentIn(folder, 'evidence/request.json', intentRequest) as IntentRequest | undefined,
    result: documentIn(folder, 'run.json', runResult) as RunResult | undefined,
    intent: documentIn(folder, 'intent.json', intent) as Intent | undefined,
    bundle: documentIn(folder, 'bundle.json', bundle) as Bundle | undefined,
    policy: documentIn(folder, 'policy.json', profile) as Profile | undefined,
    runner: documentIn(folder, 'evidence/runner.json', runner) as Runner | undefined,
    outcome: documentIn(folder, 'evidence/outcome.json', intentOutcome) as IntentOutcome | undefined,
  };
}

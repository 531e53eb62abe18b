import { existsSync } from 'node:fs';
import path from 'node:path';
import { metadata, type Metadata } from '../../contracts/agent-step/index.ts';
import { runner } from '../../contracts/runner/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { scriptOutcome } from '../../contracts/script-outcome/index.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import { scriptRequest } from '../../contracts/script-request/index.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import { scriptResult } from '../../contracts/script-result/index.ts';
import type { ScriptResult } from '../../contracts/script-result/shape.ts';
import { documentIn } from '../document.ts';
import { JOURNAL } from '../run-folder/journal.ts';

/** The documents of a script run. A document that violates its contract is undefined here. */
export interface ScriptFolder {
  readonly isOpen: boolean;
  readonly request: ScriptRequest | undefined;
  readonly runner: Runner | undefined;
  readonly outcome: ScriptOutcome | undefined;
  readonly metadata: Metadata | undefined;
  readonly result: ScriptResult | undefined;
}

export function readScriptFolder(folder: string): ScriptFolder {
  return {
    isOpen: existsSync(path.join(folder, JOURNAL)),
    request: documentIn(folder, 'evidence/request.json', scriptRequest) as ScriptRequest | undefined,
    runner: documentIn(folder, 'evidence/runner.json', runner) as Runner | undefined,
    outcome: documentIn(folder, 'evidence/outcome.json', scriptOutcome) as ScriptOutcome | undefined,
    metadata: documentIn(folder, 'evidence/metadata.json', metadata) as Metadata | undefined,
    result: documentIn(folder, 'result.json', scriptResult) as ScriptResult | undefined,
  };
}

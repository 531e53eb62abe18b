import { canonicalize } from '../base/canonical.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { ScriptOutcome } from '../contracts/script-outcome/index.ts';
import type { ScriptResult } from '../contracts/script-result/index.ts';
import { openSeal } from '../contracts/seal/index.ts';
import { exitOf } from '../evidence/endings.ts';
import { FD } from './folder-rules.ts';
import type { FolderDocument, Inspector, Surroundings } from './inspector.ts';
import { above } from './walk.ts';

/** What documents of one run folder say of the same things. */
interface Run {
  named?: { readonly id: string; readonly file: string };
  outcome?: { readonly file: string; readonly value: ScriptOutcome };
  result?: ScriptResult;
  runner?: Runner;
}

/** FD9: the documents of one run tell of one run, and of the same end. */
export function agreementInspector({ report }: Surroundings): Inspector {
  const runs = new Map<string, Run>();
  return {
    take(document) {
      const { file, place, contract, value } = document;
      const folder = above(file, contract.name === 'script-result' ? 0 : 1);
      if (folder === undefined || !(contract.name === 'script-result' || /(?:^|\/)evidence\/[^/]+$/.test(file))) return;
      const run = runs.get(folder) ?? {};
      runs.set(folder, run);
      if (contract.name === 'script-outcome') run.outcome = { file, value: value as ScriptOutcome };
      if (contract.name === 'script-result') run.result = value as ScriptResult;
      if (contract.name === 'runner') run.runner = value as Runner;
      const id = runIdOf(document);
      if (id === undefined) return;
      run.named ??= { id, file };
      if (run.named.id === id) return;
      report({ rule: FD.FD9.id, level: 'must', file: place, message: `names another run than ${run.named.file}` });
    },

    end() {
      for (const { outcome, result, runner } of runs.values()) {
        if (!outcome) continue;
        const { file, value } = outcome;
        const disagrees = (at: string, message: string): void =>
          report({ rule: FD.FD9.id, level: 'must', file, at, message });
        if (result && result.status !== value.status) disagrees('status', 'is not the one of result.json');
        if (runner && canonicalize(exitOf(value.ending)) !== canonicalize(runner.exit)) {
          disagrees('ending', 'is not the one that runner.json tells');
        }
      }
    },
  };
}

function runIdOf({ contract, value }: FolderDocument): string | undefined {
  if (contract.name === 'seal') {
    const opened = openSeal(value);
    return opened.ok ? opened.statement.predicate.run_id : undefined;
  }
  const { run_id } = value as { run_id?: unknown };
  return typeof run_id === 'string' ? run_id : undefined;
}

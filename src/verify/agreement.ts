import path from 'node:path';
import type { Runner } from '../contracts/runner/shape.ts';
import type { ScriptOutcome } from '../contracts/script-outcome/index.ts';
import type { ScriptResult } from '../contracts/script-result/index.ts';
import { openSeal, type RunKind } from '../contracts/seal/index.ts';
import { isExitOf } from '../evidence/endings.ts';
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
export function agreementInspector({ tree, hashOf, troubled, report }: Surroundings): Inspector {
  const runs = new Map<string, Run>();
  /** The contracts of documents whose name is one of those that some run always leaves. */
  const written = new Map<string, string>();
  const seals: { readonly file: string; readonly kind: RunKind }[] = [];
  return {
    take(document) {
      const { file, place, contract, value } = document;
      if (NAMES.has(path.posix.basename(file))) written.set(file, contract.name);
      const folder = above(file, contract.name === 'script-result' ? 0 : 1);
      if (folder === undefined || !(contract.name === 'script-result' || /(?:^|\/)evidence\/[^/]+$/.test(file))) return;
      const run = runs.get(folder) ?? {};
      runs.set(folder, run);
      if (contract.name === 'script-outcome') run.outcome = { file, value: value as ScriptOutcome };
      if (contract.name === 'script-result') run.result = value as ScriptResult;
      if (contract.name === 'runner') run.runner = value as Runner;
      const { run_id: id, kind } = namedBy(document);
      if (kind) seals.push({ file, kind });
      if (id === undefined) return;
      run.named ??= { id, file };
      if (run.named.id === id) return;
      report({ rule: FD.FD9.id, level: 'must', file: place, message: `names another run than ${run.named.file}` });
    },

    end() {
      for (const { file, kind } of seals) {
        for (const [name, contract] of Object.entries(ALWAYS[kind])) {
          const left = path.posix.join(above(file, 1) ?? '', name);
          // A document that is broken has a verdict of its own.
          if (troubled.has(left) || written.get(left) === contract) continue;
          const message = `seals a run of kind ${kind}, and ${name} is not there as a ${contract}`;
          report({ rule: FD.FD9.id, level: 'must', file, message });
        }
      }
      for (const [folder, { outcome, result, runner }] of runs) {
        if (!outcome) continue;
        for (const { name, sha256, truncated, masked } of outcome.value.streams) {
          const file = path.posix.join(folder, STREAMS, `${name}.txt`);
          // Of a stream that is not kept whole, or not as it was, only the runner has seen the hash.
          if (truncated || masked > 0 || !tree.files.has(file) || hashOf(file) === sha256) continue;
          report({
            rule: FD.FD9.id,
            level: 'must',
            file,
            message: 'is not the stream that the outcome has the hash of',
          });
        }
        const { file, value } = outcome;
        const disagrees = (at: string, message: string): void =>
          report({ rule: FD.FD9.id, level: 'must', file, at, message });
        if (result && result.status !== value.status) disagrees('status', 'is not the one of result.json');
        if (runner && !isExitOf(value.ending, runner.exit)) {
          disagrees('ending', 'is not the one that runner.json tells');
        }
      }
    },
  };
}

const STREAMS = 'evidence/steps/script';

/** What a run always leaves, however it ended, each with its contract. */
const ALWAYS: Readonly<Record<RunKind, Readonly<Record<string, string>>>> = {
  script: {
    'result.json': 'script-result',
    'evidence/request.json': 'script-request',
    'evidence/outcome.json': 'script-outcome',
  },
  agent: {
    'result.json': 'agent-result',
    'evidence/request.json': 'agent-request',
    'evidence/outcome.json': 'agent-outcome',
  },
  intent: { 'run.json': 'run-result', 'intent.json': 'intent', 'evidence/request.json': 'intent-request' },
  suite: { 'run.json': 'run', 'evidence/request.json': 'suite-request' },
};

const NAMES: ReadonlySet<string> = new Set(
  Object.values(ALWAYS).flatMap(files => Object.keys(files).map(file => path.posix.basename(file))),
);

/** The run that a document names, and of a seal its kind. */
function namedBy({ contract, value }: FolderDocument): { readonly run_id?: string; readonly kind?: RunKind } {
  if (contract.name === 'seal') {
    const opened = openSeal(value);
    return opened.ok ? opened.statement.predicate : {};
  }
  const { run_id } = value as { run_id?: unknown };
  return typeof run_id === 'string' ? { run_id } : {};
}

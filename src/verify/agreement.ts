import path from 'node:path';
import type { Runner } from '../contracts/runner/shape.ts';
import type { ScriptOutcome } from '../contracts/script-outcome/index.ts';
import type { ScriptResult } from '../contracts/script-result/index.ts';
import { openSeal, type RunKind } from '../contracts/seal/index.ts';
import { isExitOf } from '../evidence/step/endings.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { FolderDocument, Inspector, Surroundings } from './inspector.ts';
import { CHANGED_STREAM, changedStreams } from './streams.ts';
import { above } from './walk.ts';

/** The documents of one run folder that must agree. */
interface Run {
  named?: { readonly id: string; readonly file: string };
  outcome?: { readonly file: string; readonly value: ScriptOutcome };
  result?: ScriptResult;
  runner?: Runner;
}

/** FD9: all documents in a run folder must describe the same run with the same ending. */
export function agreementInspector(surroundings: Surroundings): Inspector {
  const { troubled, report } = surroundings;
  const runs = new Map<string, Run>();
  /** Documents whose file name occurs in ALWAYS, with their contracts. */
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
      report({
        rule: FOLDER_RULES.FD9.id,
        level: 'must',
        file: place,
        message: `names a different run than ${run.named.file}`,
      });
    },

    end() {
      for (const { file, kind } of seals) {
        for (const [name, contract] of Object.entries(ALWAYS[kind])) {
          const left = path.posix.join(above(file, 1) ?? '', name);
          // An invalid document has its own verdict.
          if (troubled.has(left) || written.get(left) === contract) continue;
          const message = `seals a run of kind ${kind}, but ${name} is missing or not a ${contract} document`;
          report({ rule: FOLDER_RULES.FD9.id, level: 'must', file, message });
        }
      }
      for (const [folder, { outcome, result, runner }] of runs) {
        if (!outcome) continue;
        const streamOf = (name: string): string => path.posix.join(folder, STREAMS, `${name}.txt`);
        for (const file of changedStreams(outcome.value.streams, streamOf, surroundings))
          report({ rule: FOLDER_RULES.FD9.id, level: 'must', file, message: CHANGED_STREAM });
        const { file, value } = outcome;
        const disagrees = (at: string, message: string): void =>
          report({ rule: FOLDER_RULES.FD9.id, level: 'must', file, at, message });
        if (result && result.status !== value.status) disagrees('status', 'differs from the status in result.json');
        if (runner && !isExitOf(value.ending, runner.exit)) {
          disagrees('ending', 'differs from the exit in runner.json');
        }
      }
    },
  };
}

const STREAMS = 'evidence/steps/script';

/** The documents that every run of a kind has, however it ended, with their contracts. */
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

/** The run that a document names, and the kind that a seal states. */
function namedBy({ contract, value }: FolderDocument): { readonly run_id?: string; readonly kind?: RunKind } {
  if (contract.name === 'seal') {
    const opened = openSeal(value);
    return opened.ok ? opened.statement.predicate : {};
  }
  const { run_id } = value as { run_id?: unknown };
  return typeof run_id === 'string' ? { run_id } : {};
}

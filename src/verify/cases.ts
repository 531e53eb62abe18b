import path from 'node:path';
import { FD } from './folder-rules.ts';
import type { FolderFinding, Inspector } from './inspector.ts';

interface Run {
  readonly file: string;
  readonly version: string;
  readonly selected: ReadonlySet<string>;
}

interface Case {
  readonly file: string;
  readonly id: string;
  readonly version: string;
}

/** FD6 and FD7: a run of a suite against its cases. */
export function caseInspector(): Inspector {
  const runs = new Map<string, Run>();
  const cases = new Map<string, Case[]>();

  return {
    take({ file, contract, value }) {
      const folder = path.posix.dirname(file);
      if (contract.name === 'run') {
        const { version, selected_case_ids } = value as { version: string; selected_case_ids: readonly string[] };
        runs.set(folder, { file, version, selected: new Set(selected_case_ids) });
      }
      if (contract.name === 'case') {
        const { case_id: id, version } = value as { case_id: string; version: string };
        cases.set(folder, [...(cases.get(folder) ?? []), { file, id, version }]);
      }
    },

    *findings() {
      for (const list of cases.values()) {
        for (const { file, id } of list) {
          if (path.posix.basename(file) !== `${id}.json`)
            yield must(FD.FD6.id, file, 'case_id', 'is not the name of the file');
        }
      }
      for (const [folder, run] of runs) yield* compare(run, cases.get(folder) ?? []);
    },
  };
}

function* compare(run: Run, cases: readonly Case[]): Generator<FolderFinding> {
  const present = new Set<string>();
  for (const { file, id, version } of cases) {
    present.add(id);
    if (version !== run.version) yield must(FD.FD6.id, file, 'version', 'is not that of the run it lies in');
    if (!run.selected.has(id)) yield must(FD.FD7.id, file, 'case_id', 'was not selected by the run it lies in');
  }
  let index = 0;
  for (const id of run.selected) {
    if (!present.has(id)) yield must(FD.FD7.id, run.file, `selected_case_ids[${index}]`, 'has left no artifact');
    index++;
  }
}

function must(rule: string, file: string, at: string, message: string): FolderFinding {
  return { rule, level: 'must', file, at, message };
}

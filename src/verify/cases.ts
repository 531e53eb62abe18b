import path from 'node:path';
import { FD } from './folder-rules.ts';
import type { FolderFinding, Inspector, Surroundings } from './inspector.ts';

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
export function caseInspector({ troubled, report }: Surroundings): Inspector {
  const runs = new Map<string, Run>();
  const cases = new Map<string, Case[]>();

  return {
    take({ file, contract, value }) {
      const folder = path.posix.dirname(file);
      if (contract.name === 'run') {
        const { version, selected_case_ids } = value as { version: string; selected_case_ids: readonly string[] };
        if (path.posix.basename(file) !== 'run.json')
          report(must(FD.FD6.id, file, 'schema_version', 'is that of a run, which lies in run.json'));
        else runs.set(folder, { file, version, selected: new Set(selected_case_ids) });
      }
      if (contract.name === 'case') {
        const { case_id: id, version } = value as { case_id: string; version: string };
        const list = cases.get(folder);
        if (list) list.push({ file, id, version });
        else cases.set(folder, [{ file, id, version }]);
      }
    },

    end() {
      for (const [folder, list] of cases) {
        const first = list[0]?.file;
        if (first !== undefined && !runs.has(folder) && !troubled.has(path.posix.join(folder, 'run.json'))) {
          report({ rule: FD.FD7.id, level: 'must', file: first, message: 'lies in a folder without run.json' });
        }
        for (const { file, id } of list) {
          if (path.posix.basename(file) !== `${id}.json`)
            report(must(FD.FD6.id, file, 'case_id', 'is not the name of the file'));
        }
      }
      for (const [folder, run] of runs) {
        for (const finding of compare(run, cases.get(folder) ?? [], troubled)) report(finding);
      }
    },
  };
}

function* compare(run: Run, cases: readonly Case[], troubled: ReadonlySet<string>): Generator<FolderFinding> {
  for (const { file, id, version } of cases) {
    if (version !== run.version) yield must(FD.FD6.id, file, 'version', 'is not that of the run it lies in');
    if (!run.selected.has(id)) yield must(FD.FD7.id, file, 'case_id', 'was not selected by the run it lies in');
  }
  const ids = new Set(cases.map(({ id }) => id));
  let index = 0;
  for (const id of run.selected) {
    // A case that is broken has a verdict of its own.
    const isThere = ids.has(id) || troubled.has(path.posix.join(path.posix.dirname(run.file), `${id}.json`));
    if (!isThere) yield must(FD.FD7.id, run.file, `selected_case_ids[${index}]`, 'has left no artifact');
    index++;
  }
}

function must(rule: string, file: string, at: string, message: string): FolderFinding {
  return { rule, level: 'must', file, at, message };
}

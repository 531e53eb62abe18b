import path from 'node:path';
import { FOLDER_RULES } from './folder-rules.ts';
import { type FolderFinding, type Inspector, mustFinding, type Surroundings } from './inspector.ts';

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

/** FD6 and FD7: compares a suite run with its cases. */
export function caseInspector({ troubled, report }: Surroundings): Inspector {
  const runs = new Map<string, Run>();
  const cases = new Map<string, Case[]>();

  return {
    take({ file, contract, value }) {
      const folder = path.posix.dirname(file);
      if (contract.name === 'run') {
        const { version, selected_case_ids } = value as { version: string; selected_case_ids: readonly string[] };
        if (path.posix.basename(file) !== 'run.json')
          report(
            mustFinding(
              FOLDER_RULES.FD6.id,
              file,
              'schema_version',
              'says that this is a run, which must be in run.json',
            ),
          );
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
          report({
            rule: FOLDER_RULES.FD7.id,
            level: 'must',
            file: first,
            message: 'is a case, but its folder has no run.json',
          });
        }
        for (const { file, id } of list) {
          if (path.posix.basename(file) !== `${id}.json`)
            report(mustFinding(FOLDER_RULES.FD6.id, file, 'case_id', 'differs from the file name'));
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
    if (version !== run.version)
      yield mustFinding(FOLDER_RULES.FD6.id, file, 'version', 'differs from the run in the same folder');
    if (!run.selected.has(id))
      yield mustFinding(FOLDER_RULES.FD7.id, file, 'case_id', 'was not selected by the run in the same folder');
  }
  const ids = new Set(cases.map(({ id }) => id));
  let index = 0;
  for (const id of run.selected) {
    // An invalid case has its own verdict.
    const isThere = ids.has(id) || troubled.has(path.posix.join(path.posix.dirname(run.file), `${id}.json`));
    if (!isThere) yield mustFinding(FOLDER_RULES.FD7.id, run.file, `selected_case_ids[${index}]`, 'has no case file');
    index++;
  }
}

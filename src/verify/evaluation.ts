import path from 'node:path';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import { FD } from './folder-rules.ts';
import type { Inspector, Surroundings } from './inspector.ts';

/** FD10: an evaluation against the seal, the cases and the run that it lies beside. */
export function evaluationInspector({ tree, hashOf, troubled, report }: Surroundings): Inspector {
  const evaluations: { file: string; value: Pick<Evaluation, keyof typeof HASHED | 'run_id' | 'version'> }[] = [];
  const runs = new Map<string, Pick<RunArtifact, 'run_id' | 'version'>>();

  return {
    take({ file, contract, value }) {
      if (contract.name === 'run' && path.posix.basename(file) === 'run.json') {
        const { run_id, version } = value as RunArtifact;
        runs.set(path.posix.dirname(file), { run_id, version });
      }
      if (contract.name !== 'evaluation') return;
      // Without its cases, of which there may be a hundred thousand.
      const { run_id, version, seal_sha256, cases_sha256 } = value as Evaluation;
      evaluations.push({ file, value: { run_id, version, seal_sha256, cases_sha256 } });
    },

    end() {
      for (const { file, value } of evaluations) {
        const breaks = (at: string, message: string): void =>
          report({ rule: FD.FD10.id, level: 'must', file, at, message });
        if (path.posix.basename(file) !== 'evaluation.json') {
          breaks('schema_version', 'is that of an evaluation, which lies in evaluation.json');
          continue;
        }
        const folder = folderOf(file);
        for (const [key, name] of Object.entries(HASHED)) {
          const beside = path.posix.join(folder, name);
          if (!tree.files.has(beside)) breaks(key, `names ${name}, which is not there`);
          else if (hashOf(beside) !== value[key as keyof typeof HASHED]) breaks(key, `is not the hash of ${name}`);
        }
        const run = runs.get(folder);
        // A run that is broken has a verdict of its own.
        if (!run && !troubled.has(path.posix.join(folder, 'run.json')))
          breaks('run_id', 'names a run that is not there');
        if (run && run.run_id !== value.run_id) breaks('run_id', 'is not that of the run it lies in');
        if (run && run.version !== value.version) breaks('version', 'is not that of the run it lies in');
      }
    },
  };
}

/** What an evaluation states the hash of. */
const HASHED = { seal_sha256: 'evidence/seal.json', cases_sha256: 'assets/cases.ndjson' } as const;

/** The folder of the run that an evaluation tells of. */
function folderOf(file: string): string {
  const folder = path.posix.dirname(file);
  return path.posix.basename(folder) === 'evidence' ? path.posix.dirname(folder) : folder;
}

import path from 'node:path';
import { FOLDER_RULES } from './folder-rules.ts';
import type { Inspector, Surroundings } from './inspector.ts';

interface Metadata {
  readonly file: string;
  readonly environment_hash?: string;
  readonly runner_record_absent?: string;
}

/** FD8: compares the environment in metadata.json with runner.json. */
export function environmentInspector({ tree, troubled, report }: Surroundings): Inspector {
  const metadata: Metadata[] = [];
  const environments = new Map<string, string | undefined>();
  return {
    take({ file, contract, value, environmentHash }) {
      if (contract.name === 'metadata') metadata.push({ ...(value as Omit<Metadata, 'file'>), file });
      if (contract.name === 'runner') environments.set(file, environmentHash);
    },

    end() {
      for (const { file, environment_hash, runner_record_absent } of metadata) {
        const runner = path.posix.join(path.posix.dirname(file), 'runner.json');
        const disagrees = (at: string, message: string): void =>
          report({ rule: FOLDER_RULES.FD8.id, level: 'must', file, at, message });
        if (runner_record_absent !== undefined && tree.files.has(runner)) {
          disagrees('runner_record_absent', 'says that there is no runner.json, but there is one');
        }
        // An invalid record has its own verdict.
        if (environment_hash === undefined || troubled.has(runner)) continue;
        if (!environments.has(runner)) disagrees('environment_hash', 'is stated, but there is no runner.json');
        else if (environments.get(runner) !== environment_hash) {
          disagrees('environment_hash', 'does not match runner.json');
        }
      }
    },
  };
}

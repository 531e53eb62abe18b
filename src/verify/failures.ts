import path from 'node:path';
import { FOLDER_RULES } from './folder-rules.ts';
import { type Inspector, mustFinding, type Surroundings } from './inspector.ts';

/** A saved response body, as its case describes it. */
interface Failure {
  readonly file: string;
  /** The key in the case. */
  readonly at: string;
  readonly meta: string;
  readonly body: string;
  readonly said: Said;
}

/** What the case and its failure metadata both state. */
interface Said {
  readonly case_id?: string;
  readonly version?: string;
  readonly class?: string;
}

interface Meta extends Said {
  readonly bytes_written?: number;
  readonly sha256?: string;
}

/** FD3 and FD6: compares failure metadata with its case and with the saved body. */
export function failureInspector({ tree, hashOf, troubled, report }: Surroundings): Inspector {
  const failures: Failure[] = [];
  const metas = new Map<string, Meta>();
  return {
    take({ file, contract, value }) {
      if (contract.name === 'failure-meta') metas.set(file, value);
      if (contract.name !== 'case') return;
      const { case_id, version, runner_failure, attempts = [] } = value as SaidOfCase;
      const beside = (href: string): string => path.posix.join(path.posix.dirname(file), href);
      const take = (at: string, saved: Saved, errorClass: string | undefined): void => {
        if (!saved.full_body_meta_saved_to || !saved.full_body_saved_to) return;
        failures.push({
          file,
          at: `${at}.full_body_meta_saved_to`,
          meta: beside(saved.full_body_meta_saved_to),
          body: beside(saved.full_body_saved_to),
          said: {
            ...(case_id !== undefined && { case_id }),
            ...(version !== undefined && { version }),
            ...(errorClass !== undefined && { class: errorClass }),
          },
        });
      };
      if (runner_failure) take('runner_failure', runner_failure, runner_failure.class);
      for (const [index, attempt] of attempts.entries()) take(`attempts[${index}]`, attempt, attempt.error_class);
    },

    end() {
      for (const { file, at, meta: metaFile, body, said } of failures) {
        const meta = metas.get(metaFile);
        if (!meta) {
          const isLost = tree.files.has(metaFile) && !troubled.has(metaFile);
          if (isLost)
            report(mustFinding(FOLDER_RULES.FD6.id, file, at, 'refers to a file that is not failure metadata'));
          continue;
        }
        for (const key of ['case_id', 'version', 'class'] as const) {
          if (meta[key] !== undefined && meta[key] !== said[key]) {
            report(mustFinding(FOLDER_RULES.FD6.id, metaFile, key, `differs from ${file}, which refers to this file`));
          }
        }
        const size = tree.files.get(body);
        if (size === undefined) continue;
        if (meta.bytes_written !== undefined && meta.bytes_written !== size) {
          report(
            mustFinding(
              FOLDER_RULES.FD3.id,
              metaFile,
              'bytes_written',
              `is ${meta.bytes_written}, but the body has ${size} bytes`,
            ),
          );
        } else if (meta.sha256 !== undefined && !hashOf(body)?.endsWith(meta.sha256.slice(-64).toLowerCase())) {
          report(mustFinding(FOLDER_RULES.FD3.id, metaFile, 'sha256', 'does not match the hash of the body'));
        }
      }
    },
  };
}

interface SaidOfCase extends Said {
  readonly runner_failure?: Saved & { readonly class: string };
  readonly attempts?: readonly (Saved & { readonly error_class?: string })[];
}

interface Saved {
  readonly full_body_saved_to?: string | null;
  readonly full_body_meta_saved_to?: string | null;
}

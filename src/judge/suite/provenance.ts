import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { printable } from '../../base/printable.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import {
  PROVENANCE,
  PROVENANCE_BYTES_MAX,
  PROVENANCE_VALUES_MAX,
  type ProvenanceName,
  type SeenProvenance,
} from '../../contracts/provenance.ts';

/** Collects what a run's answers report about the agent: each distinct value once, up to a limit. */
export class Provenance {
  readonly #seen = new Map<ProvenanceName, Set<string>>();

  take({ agent_fields: fields }: Pick<CaseArtifact, 'agent_fields'>): void {
    if (!fields) return;
    for (const name of PROVENANCE) {
      const value = saidIn(fields, name);
      if (value === undefined) continue;
      const values = this.#seen.get(name) ?? new Set();
      if (values.size < PROVENANCE_VALUES_MAX) this.#seen.set(name, values.add(value));
    }
  }

  /** Undefined if no answer reports anything. */
  seen(): SeenProvenance | undefined {
    if (this.#seen.size === 0) return undefined;
    return Object.fromEntries([...this.#seen].map(([name, values]) => [name, [...values].sort()]));
  }
}

/** The value of a field: in `provenance`, else at the top level. */
function saidIn(fields: Readonly<Record<string, unknown>>, name: ProvenanceName): string | undefined {
  for (const holder of [own(fields, 'provenance'), fields]) {
    for (const key of KEYS[name]) {
      const text = textOf(own(holder, key));
      if (text === undefined) continue;
      const version = name === 'model' ? textOf(own(holder, 'model_version')) : undefined;
      return version === undefined ? text : shortText(`${text} ${version}`);
    }
  }
  return undefined;
}

/** The names that agents use for each field, the plainest first. */
const KEYS: Readonly<Record<ProvenanceName, readonly string[]>> = {
  model: ['model'],
  prompt_version: ['prompt_version'],
  parameters: ['parameters', 'model_parameters', 'config_hash'],
  commit: ['commit', 'commit_sha', 'repo_commit'],
  image: ['image', 'image_digest'],
};

/** A value as a short text; undefined if there is none. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return shortText(typeof value === 'string' ? value : canonicalize(value));
}

function shortText(text: string): string {
  const { text: head, truncated } = clip(printable(text), PROVENANCE_BYTES_MAX - ELLIPSIS_BYTES);
  return `${head}${truncated ? '…' : ''}`;
}

const ELLIPSIS_BYTES = 3;

/** Reads an own key of an untrusted object. Inherited keys do not count. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

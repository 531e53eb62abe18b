import path from 'node:path';
import { bytesHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import { type RunArtifact, runArtifact } from '../contracts/artifacts/index.ts';
import { openSeal, seal } from '../contracts/seal/index.ts';
import { SEAL } from './finish.ts';
import type { Entry } from './ledger.ts';
import { intentIn } from './ledger-intent.ts';
import { documentIn } from './read.ts';

/** What a ledger says of a run, as its sealed folder tells it; undefined if it has no seal that can be read. */
export function sealedEntry(folder: string): Entry | undefined {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const opened = reading?.ok ? openSeal(reading.value) : undefined;
  if (!bytes || !opened?.ok) return undefined;
  const { run_id, kind, sealed_at } = opened.statement.predicate;
  const intent = kind === 'intent' ? intentIn(folder) : null;
  if (intent === undefined) return undefined;
  const version = kind === 'suite' ? sideIn(folder) : undefined;
  return { run_id, kind, sealed_at, seal_sha256: bytesHash(bytes), intent, ...(version && { version }) };
}

/** The side of a suite, as its run.json says. */
function sideIn(folder: string): Entry['version'] {
  const run = documentIn(folder, 'run.json', runArtifact) as RunArtifact | undefined;
  return run?.version;
}

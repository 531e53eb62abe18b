import path from 'node:path';
import { type TaskAttempt, attemptShape } from '../../contracts/agent-step/attempt.ts';
import { hasShape, looseKeys } from '../document.ts';
import type { RunFolder } from '../run-folder/runs.ts';
import { openAgentIn } from './agent-folder.ts';

/** Which attempt of which group a run folder claims to be; undefined for a single run. Open runs count too. */
export function attemptIn(folder: string): TaskAttempt | undefined {
  const { attempt } = looseKeys(path.join(folder, 'evidence/metadata.json'), METADATA_BYTES_MAX);
  const claimed = attempt ?? openAgentIn(folder)?.asked.attempt;
  return hasShape(claimed, attemptShape) ? (claimed as TaskAttempt) : undefined;
}

const METADATA_BYTES_MAX = 1024 * 1024;

/** The runs that claim to be attempts, with their claims. */
export function attemptsOf(runs: readonly RunFolder[]) {
  return runs.flatMap(place => {
    const attempt = place.lane === 'agent' ? attemptIn(place.folder) : undefined;
    return attempt ? [{ place, attempt }] : [];
  });
}

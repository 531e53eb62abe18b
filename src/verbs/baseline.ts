import { existsSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { modesIn } from '../base/private.ts';
import type { Baseline } from '../contracts/baseline/index.ts';
import { homeFrom } from '../evidence/run-folder/runs.ts';
import { packOf } from '../judge/compare/baseline-pack.ts';
import { acceptedFrom, plannedOnly } from '../judge/compare/baseline.ts';
import { baselineText } from './baseline-text.ts';
import type { SealNotice } from './judged.ts';
import { signerAt } from './keys.ts';
import { refuseUnknown } from './options.ts';
import { packFileOf, sideOf } from './evaluations.ts';

export interface Accepted {
  readonly file: string;
  /** The file next to it that contains cases, events and outputs. */
  readonly packFile: string;
  readonly pack: NonNullable<Baseline['pack']>;
  readonly cases: number;
  readonly passed: number;
  readonly runIds: readonly string[];
  readonly isNew: boolean;
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
  /** Whether the stored evaluations match their seals. */
  readonly judgements: readonly SealNotice[];
}

/** Writes an accepted baseline: a small sealed document to commit, and its pack. Signs with the named key, else the project's. */
export async function acceptBaseline(
  word: string,
  out: string,
  cwd: string,
  options: { readonly signingKey?: string } = {},
): Promise<Accepted> {
  refuseUnknown('acceptBaseline', options, { signingKey: true });
  const { signingKey } = options;
  const signer = signerAt(cwd, signingKey);
  const { side, told } = await sideOf(word, cwd, { home: homeFrom(cwd), key: signer });
  if (side.source === 'accepted') throw new Fault('usage', 'This is already an accepted baseline. Specify a run.');
  if (side.incomplete !== undefined) throw new Fault('incomplete', side.incomplete);
  const { bytes, note: pack } = packOf(plannedOnly(side));
  const baseline = acceptedFrom(side, instantText(systemClock.now()), signer, pack);
  const file = path.resolve(cwd, out);
  const isNew = !existsSync(file);
  const packFile = packFileOf(file);
  const { file: mode } = modesIn(path.dirname(file));
  writeAtomic(packFile, bytes, mode);
  writeAtomic(file, baselineText(baseline), mode);
  const cases = Object.values(baseline.cases);
  const passed = cases.filter(({ trials }) => trials.every(({ verdict }) => verdict === 'pass')).length;
  const { run_ids: runIds } = baseline;
  const keyId = signer?.keyId ?? null;
  return { file, packFile, pack, cases: cases.length, passed, runIds, isNew, keyId, judgements: told };
}

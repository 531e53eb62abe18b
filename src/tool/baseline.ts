import { existsSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { canonicalize } from '../base/canonical.ts';
import { instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { modesIn } from '../base/private.ts';
import { sideOf } from './sides.ts';

export interface Accepted {
  readonly file: string;
  readonly cases: number;
  readonly passed: number;
  readonly runIds: readonly string[];
  readonly isNew: boolean;
}

/** Makes of a run the small document that later runs are compared with. */
export async function acceptBaseline(word: string, out: string, cwd: string): Promise<Accepted> {
  const [{ homeFrom }, { acceptedFrom }] = await Promise.all([
    import('../evidence/runs.ts'),
    import('../judge/baseline.ts'),
  ]);
  const side = await sideOf(word, cwd, { home: homeFrom(cwd) });
  if (side.source === 'accepted') throw new Fault('usage', 'That is an accepted baseline already.');
  const baseline = acceptedFrom(side, instantText(systemClock.now()));
  const file = path.resolve(cwd, out);
  const isNew = !existsSync(file);
  writeAtomic(file, `${canonicalize(baseline)}\n`, modesIn(path.dirname(file)).file);
  const cases = Object.values(baseline.cases);
  const passed = cases.filter(({ trials }) => trials.every(({ verdict }) => verdict === 'pass')).length;
  return { file, cases: cases.length, passed, runIds: baseline.run_ids, isNew };
}

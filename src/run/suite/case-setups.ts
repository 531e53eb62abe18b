import type { SuiteCase } from '../../contracts/suite/index.ts';
import { type CaseSetups, SetupCollector } from './agent-work.ts';
import { readCases } from './cases-file.ts';

/** What the selected cases of a file say about the work. `checks` are the names of the checks of every case. */
export function setupsOfFile(
  file: string,
  only: readonly string[] | undefined,
  checks: readonly string[],
): CaseSetups['setups'] {
  const wanted = only && new Set(only);
  const collector = new SetupCollector();
  readCases(
    file,
    one => {
      if (!wanted || wanted.has(one.id)) collector.take(one);
    },
    { kind: 'agent', checks },
  );
  return collector.list();
}

/** What stored cases say about the work. */
export function setupsIn(cases: Iterable<SuiteCase>): CaseSetups['setups'] {
  const collector = new SetupCollector();
  for (const one of cases) collector.take(one);
  return collector.list();
}

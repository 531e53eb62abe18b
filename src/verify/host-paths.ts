import { hostPathIn } from '../base/path.ts';
import { placeOf } from '../base/place.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { Inspector, ReportFinding } from './inspector.ts';

/** FD5: finds host paths in Proctor's own text. Text from the program that ran is exempt. */
export function hostPathInspector(report: ReportFinding): Inspector {
  return {
    take({ place, contract, value }) {
      for (const at of pathsIn(value, '', new Set(contract.programText))) {
        report({ rule: FOLDER_RULES.FD5.id, level: 'must', file: place, at, message: 'contains a host path' });
      }
    },
  };
}

function* pathsIn(value: unknown, at: string, exempt: ReadonlySet<string>, plain = at): Generator<string> {
  if (exempt.has(plain)) return;
  if (typeof value === 'string') {
    if (hostPathIn(value) !== undefined) yield at;
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) yield* pathsIn(element, `${at}[${index}]`, exempt, `${plain}[]`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      yield* pathsIn(member, placeOf(at, key), exempt, plain === '' ? key : `${plain}.${key}`);
    }
  }
}

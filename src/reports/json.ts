import { canonicalize, canonicalPieces } from '../base/canonical.ts';
import type { Report } from './report.ts';

/** The documents in canonical form. */
export const json: Report = {
  file: 'report.json',
  *ofComparison(comparison) {
    yield* canonicalPieces(comparison);
    yield '\n';
  },
  ofRun: ({ evaluation }) => [canonicalize(evaluation), '\n'],
};

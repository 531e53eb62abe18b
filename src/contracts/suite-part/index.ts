import { type Contract, MIB } from '../contract.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { examplePart } from './example.ts';
import { openPart } from './open.ts';
import { type SuitePart, suitePartShape } from './shape.ts';

export { type OpenedPart, openPart } from './open.ts';
export { dirtyParts, missingShards } from './agreement.ts';
export { isAsset, isShared, madeBy, nameInPart, SHARED_FILES } from './files.ts';
export { type PartedRun, partName, partRules, PARTS_FILE } from './rules.ts';
export { PART_REQUEST, PART_RUN, type SuitePart } from './shape.ts';

const rule = rulesFor<SuitePart>();

const rules = [
  rule({
    id: 'PT1',
    title: 'Part Sealed',
    why: 'The seal of a part says who made its cases. It must open wherever the run was merged.',
    asks: [
      'schema_version is "suite-part.v1"',
      'run_id is the run that collected the part, and number is its line in evidence/parts.ndjson (1 to 256)',
      'seal is the text of the seal of the part: it opens, seals a suite, and has no unknown keys',
      'documents is a list of at most 16, each with path and text; no path is a duplicate',
      'each text has the digest that the seal of the part names',
      'run.json and evidence/request.json are among them, keep their contracts, and name the run of the seal',
      NO_UNKNOWN_KEYS,
    ],
    fields: ['schema_version', 'run_id', 'number', 'seal', 'documents'],
    *check(part) {
      const opening = openPart(part);
      if (!opening.ok) yield must(opening.path, opening.message);
    },
    breach: part => ({ ...part, documents: part.documents.map(one => ({ ...one, text: `${one.text} ` })) }),
  }),
];

export const suitePart: Contract = {
  name: 'suite-part',
  title: 'Part of a merged suite run',
  tells: 'The seal of a part of a suite, and its small documents; a line of evidence/parts.ndjson.',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'suite-part.v1' },
  shape: suitePartShape,
  rules,
  unknownKeys: 'PT1',
  // The documents of the part were checked when it was sealed.
  programText: ['seal', 'documents'],
  beyond: ['whether the folder contains the cases of the part, and who signed it: verify the folder with --key'],
  bytesMax: 16 * MIB,
  example: examplePart(1),
};

import { holdsSecret } from '../../base/redact.ts';
import { uniqueAdvice } from '../lists.ts';
import { must, rulesFor, should } from '../rule.ts';
import { artifactPathTrouble } from './artifact-path.ts';
import { unsafeParts } from './summary.ts';
import { holdsTrace } from './trace.ts';
import type { ScriptResult } from './shape.ts';

const rule = rulesFor<ScriptResult>();

const SR1 = rule({
  id: 'SR1',
  title: 'Contract Version Known',
  why: 'Under a version nobody knows, no other word of the document has a meaning. It is judged first, and alone.',
  asks: [
    'contract_version is 1; anything else is the only thing said of the document',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['contract_version'],
  breach: result => ({ ...result, contract_version: 2 }),
});

const SR2 = rule({
  id: 'SR2',
  title: 'Status Known',
  why: 'A run ends in one of three ways, and readers act on which.',
  asks: ['status is succeeded, failed or timed_out'],
  fields: ['status'],
  breach: result => ({ ...result, status: 'ok' }),
});

const SR3 = rule({
  id: 'SR3',
  title: 'HTML Output Present',
  why: 'Readers show it without asking; on failure it may be empty, but it is there.',
  asks: ['html_output is a string, which may be empty'],
  fields: ['html_output'],
  breach: result => ({ ...result, html_output: null }),
});

const SR4 = rule({
  id: 'SR4',
  title: 'Error Summary Safe',
  why: 'It is shown to end users, who must see no stack trace, no path of the machine and no secret.',
  asks: [
    'error_summary is a string or null',
    'it holds no stack trace, no path of a machine and no credential',
    'it holds no value after a name such as password, token or api_key',
    'should: it holds no other absolute path or address, and no long mixture of letters and digits',
    'should: it is null exactly when the status is succeeded, and at most 2,000 bytes',
  ],
  fields: ['error_summary'],
  reads: ['status'],
  *check({ error_summary, status }) {
    if (error_summary === null) {
      if (status !== 'succeeded') yield should('error_summary', 'should tell the user what went wrong');
      return;
    }
    const unsafe = unsafeParts(error_summary);
    const surely = (what: string): boolean => unsafe.some(part => part.what === what && part.isSure);
    const troubles = [
      ...(holdsTrace(error_summary) ? ['holds a stack trace'] : []),
      ...(surely('path') ? ['holds a path of a machine'] : []),
      ...(surely('value') ? ['holds a value after the name of a secret'] : []),
      ...(holdsSecret(error_summary) ? ['holds what looks like a credential'] : []),
    ];
    for (const trouble of troubles) yield must('error_summary', trouble);
    if (troubles.length === 0 && unsafe.length > 0)
      yield should('error_summary', 'should hold only words, numbers, relative paths and plain addresses');
    if (status === 'succeeded') yield should('error_summary', 'should be null where the status is "succeeded"');
    if (Buffer.byteLength(error_summary) > SHORT_BYTES)
      yield should('error_summary', `should be short, at most ${SHORT_BYTES} bytes`);
  },
  breach: result => ({ ...result, status: 'failed', error_summary: 'Traceback (most recent call last):' }),
});

const SR5 = rule({
  id: 'SR5',
  title: 'Artifacts Listed',
  why: 'The list is a hint for people; the files in output/ are the truth. A hint must still be a list of names and sizes.',
  asks: [
    'artifacts is a list of at most 2,000 entries, each with a path and a whole number of bytes',
    'should: nothing stands twice',
  ],
  fields: ['artifacts'],
  *check({ artifacts }) {
    yield* uniqueAdvice(
      artifacts.map(({ path }) => path),
      'artifacts',
    );
  },
  breach: result => ({ ...result, artifacts: [{ path: 'output/report.pdf', bytes: -1 }] }),
});

const SR6 = rule({
  id: 'SR6',
  title: 'Artifact Paths Safe',
  why: 'A path is a wish of the script. One that leaves output/, or reads differently on another system, is an attack.',
  asks: [
    'every path lies below output/ and is relative, without .. or \\',
    'no name is one that another system reads differently: devices, colons, trailing points, invisible characters',
    'a path has at most 1,024 bytes and 16 levels, a name at most 255 bytes',
  ],
  fields: ['artifacts[].path'],
  *check({ artifacts }) {
    for (const [index, { path }] of artifacts.entries()) {
      const trouble = artifactPathTrouble(path);
      if (trouble) yield must(`artifacts[${index}].path`, trouble);
    }
  },
  breach: result => ({ ...result, artifacts: [{ path: 'output/../secrets', bytes: 1 }] }),
});

export const scriptResultRules = [SR1, SR2, SR3, SR4, SR5, SR6];

const SHORT_BYTES = 2_000;

import { holdsSecret } from '../../base/redact.ts';
import { uniqueAdvice } from '../lists.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor, should } from '../rule.ts';
import { artifactPathFault } from './artifact-path.ts';
import { unsafeParts } from './summary.ts';
import { holdsTrace } from './trace.ts';
import type { ScriptResult } from './shape.ts';

const rule = rulesFor<ScriptResult>();

const SR1 = rule({
  id: 'SR1',
  title: 'Contract Version Known',
  why: 'The other keys are meaningful only if the version is known, so it is checked first.',
  asks: ['contract_version is 1; otherwise, no other violation is reported', NO_UNKNOWN_KEYS],
  fields: ['contract_version'],
  breach: result => ({ ...result, contract_version: 2 }),
});

const SR2 = rule({
  id: 'SR2',
  title: 'Status Known',
  why: 'Programs act on the status, so it is one of three known values.',
  asks: ['status is succeeded, failed or timed_out'],
  fields: ['status'],
  breach: result => ({ ...result, status: 'ok' }),
});

const SR3 = rule({
  id: 'SR3',
  title: 'HTML Output Present',
  why: 'Viewers always show the HTML, so it must be present. It may be empty after a failure.',
  asks: ['html_output is a string, which may be empty'],
  fields: ['html_output'],
  breach: result => ({ ...result, html_output: null }),
});

const SR4 = rule({
  id: 'SR4',
  title: 'Error Summary Safe',
  why: 'End users see it, so it must not reveal stack traces, host paths or secrets.',
  asks: [
    'error_summary is a string or null',
    'it contains no stack trace, no host path and no credential',
    'it contains no value after a name such as password, token or api_key',
    'should: it contains no other absolute path or address, and no long mix of letters and digits',
    'should: it is null if and only if the status is succeeded, and has at most 2,000 bytes',
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
    const faults = [
      ...(holdsTrace(error_summary) ? ['contains a stack trace'] : []),
      ...(surely('path') ? ['contains a host path'] : []),
      ...(surely('value') ? ['contains a value after the name of a secret'] : []),
      ...(holdsSecret(error_summary) ? ['contains what looks like a credential'] : []),
    ];
    for (const fault of faults) yield must('error_summary', fault);
    if (faults.length === 0 && unsafe.length > 0)
      yield should('error_summary', 'should contain only words, numbers, relative paths and plain URLs');
    if (status === 'succeeded') yield should('error_summary', 'should be null if the status is "succeeded"');
    if (Buffer.byteLength(error_summary) > SHORT_BYTES)
      yield should('error_summary', `should be short, at most ${SHORT_BYTES} bytes`);
  },
  breach: result => ({ ...result, status: 'failed', error_summary: 'Traceback (most recent call last):' }),
});

const SR5 = rule({
  id: 'SR5',
  title: 'Artifacts Listed',
  why: 'Proctor reads the files in output/, not this list, but the list must still be well-formed.',
  asks: [
    'artifacts is a list of at most 2,000 entries, each with a path and an integer number of bytes',
    'should: no path is a duplicate',
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
  why: 'The script chooses these paths, so they are untrusted: they must not leave output/ on any system.',
  asks: [
    'every path is relative and inside output/, without .. or \\',
    'no name means something else on another system: no device names, colons, trailing dots or invisible characters',
    'a path has at most 1,024 bytes and 16 levels, a name at most 255 bytes',
  ],
  fields: ['artifacts[].path'],
  *check({ artifacts }) {
    for (const [index, { path }] of artifacts.entries()) {
      const fault = artifactPathFault(path);
      if (fault) yield must(`artifacts[${index}].path`, fault);
    }
  },
  breach: result => ({ ...result, artifacts: [{ path: 'output/../secrets', bytes: 1 }] }),
});

export const scriptResultRules = [SR1, SR2, SR3, SR4, SR5, SR6];

const SHORT_BYTES = 2_000;

import type { Rule } from '../rule.ts';

/**
 * The invariants of an agent step. An invariant can apply to several documents, with different keys in each. Its id, title
 * and reason are the same everywhere.
 */
export const AG = {
  AG1: {
    id: 'AG1',
    title: 'Schema Version Known',
    why: 'The version tells a reader which rules apply to a document.',
  },
  AG2: {
    id: 'AG2',
    title: 'Agent Family Known',
    why: 'Proctor can parse the output of an agent only if it knows the family, and only in unattended mode.',
  },
  AG3: {
    id: 'AG3',
    title: 'Request Complete',
    why: 'An agent with an incomplete task may do something that you never asked for.',
  },
  AG4: {
    id: 'AG4',
    title: 'Termination Mechanical',
    why: 'The termination is one of a few values that anyone can check, and never means success if the program failed.',
  },
  AG5: {
    id: 'AG5',
    title: 'Paths Relative',
    why: 'An absolute path, or one with .., reveals the layout of a machine and breaks once the folder is copied.',
  },
  AG6: {
    id: 'AG6',
    title: 'Roles Canonical',
    why: 'Evidence is found by step and role; an unknown, duplicate or misplaced role hides it.',
  },
  AG7: {
    id: 'AG7',
    title: 'Required Artifacts Present',
    why: 'A step without a transcript, metadata or a policy cannot be judged, even if raw captures exist.',
  },
  AG8: {
    id: 'AG8',
    title: 'Evidence Verifiable',
    why: 'Without a digest and size, a file can be replaced unnoticed, and a reference that matches no artifact proves nothing.',
  },
  AG9: {
    id: 'AG9',
    title: 'Requested, Effective and Observed Policy Apart',
    why: 'The requested, effective and observed policies can differ, and a reader must see where.',
  },
  AG10: {
    id: 'AG10',
    title: 'Policy Only Tightened',
    why: 'A request for a limit must never result in a looser one.',
  },
  AG11: {
    id: 'AG11',
    title: 'Violations Classified',
    why: 'A reader must know what was violated, where, and whether the violation had to end the run.',
  },
  AG12: {
    id: 'AG12',
    title: 'Times Consistent',
    why: 'Times that contradict each other prove nothing.',
  },
  AG13: {
    id: 'AG13',
    title: 'Invocation Recorded',
    why: 'To judge whether an agent succeeded, a reader must know how it was started and what it could approve.',
  },
  AG14: {
    id: 'AG14',
    title: 'Event Line Complete',
    why: 'A line without its run, step or type cannot be attributed to anything.',
  },
  AG15: {
    id: 'AG15',
    title: 'Status Complete',
    why: 'A reader must be able to tell an unknown value from a forgotten one, and an active run from one that ended.',
  },
  AG16: {
    id: 'AG16',
    title: 'Run Identified',
    why: 'Evidence must name its run, step and work tree, so that it cannot be attributed to others.',
  },
} as const;

/** AG1 for a document. Another of its rules reports unknown keys. */
export function versionOf(version: string): Rule {
  return {
    ...AG.AG1,
    asks: [`schema_version is "${version}"`],
    fields: ['schema_version'],
    breach: (example: object) => ({ ...example, schema_version: version.replace(/\d+$/, '9') }),
  };
}

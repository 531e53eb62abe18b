/**
 * What must hold of an agent step. One invariant speaks about several documents, with other keys in each; its number
 * and its words are the same in all of them, and stand here.
 */
export const AG = {
  AG1: {
    id: 'AG1',
    title: 'Schema Version Known',
    why: 'A reader must know by which rules a document was written before it believes a word of it.',
  },
  AG2: {
    id: 'AG2',
    title: 'Agent Family Known',
    why: 'Only the adapter of its family can tell what an agent said, and only in the mode that needs no one at the keyboard.',
  },
  AG3: {
    id: 'AG3',
    title: 'Request Complete',
    why: 'An agent that gets half a task does one that nobody gave it.',
  },
  AG4: {
    id: 'AG4',
    title: 'Termination Mechanical',
    why: 'How a step ended is one word that anyone can check, and never success where the program failed.',
  },
  AG5: {
    id: 'AG5',
    title: 'Paths Relative',
    why: 'An absolute or climbing path tells how a machine is laid out and leads nowhere once the folder was copied.',
  },
  AG6: {
    id: 'AG6',
    title: 'Roles Canonical',
    why: 'Evidence is looked up by step and role; a role that is unknown, doubled or out of place hides it.',
  },
  AG7: {
    id: 'AG7',
    title: 'Required Artifacts Present',
    why: 'A step without transcript, metadata or policy cannot be judged, however many raw captures lie beside it.',
  },
  AG8: {
    id: 'AG8',
    title: 'Evidence Verifiable',
    why: 'Without digest and size a file can be exchanged unseen, and a reference to no artifact proves nothing.',
  },
  AG9: {
    id: 'AG9',
    title: 'Requested, Effective and Observed Policy Apart',
    why: 'What was wished, what was enforced and what was proved are three facts; one in the place of another hides a gap.',
  },
  AG10: {
    id: 'AG10',
    title: 'Policy Only Tightened',
    why: 'Whoever asks for a limit never gets a looser one.',
  },
  AG11: {
    id: 'AG11',
    title: 'Violations Classified',
    why: 'A breach of policy helps a reader who can tell its kind, its object and whether it had to end the run.',
  },
  AG12: {
    id: 'AG12',
    title: 'Times Consistent',
    why: 'Times that contradict each other prove nothing.',
  },
  AG13: {
    id: 'AG13',
    title: 'Invocation Recorded',
    why: 'How an agent was started and what it was free to approve decide what its success is worth.',
  },
  AG14: {
    id: 'AG14',
    title: 'Event Line Complete',
    why: 'A line that names no run, no step or no kind cannot be put into its place again.',
  },
  AG15: {
    id: 'AG15',
    title: 'Status Complete',
    why: 'Whoever watches must tell "not known" from "forgotten", and a run that lives from one that ended.',
  },
  AG16: {
    id: 'AG16',
    title: 'Run Identified',
    why: 'Evidence that does not say to which run, step and work tree it belongs can be laid to any.',
  },
} as const;

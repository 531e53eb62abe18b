/** The rules of profiles. Some are seen in a profile itself, some only in the result of a run under one. */
export const PL = {
  PL1: { id: 'PL1', title: 'Profile Named', why: 'A run names the profile it was bound by.' },
  PL2: { id: 'PL2', title: 'Profile Complete', why: 'A limit that is not stated is not a limit.' },
  PL3: { id: 'PL3', title: 'Limits Within Bounds', why: 'A profile of your own may be anything but unbounded.' },
  PL4: {
    id: 'PL4',
    title: 'Model Mode Allowed',
    why: 'Only dev may record or replay a model; a run under strict or default must not depend on one.',
  },
  PL5: {
    id: 'PL5',
    title: 'Recording Named',
    why: 'A run that recorded or replayed a model is reproducible only with its recording.',
  },
  PL6: {
    id: 'PL6',
    title: 'Constraints Enforced',
    why: 'A constraint that cannot be enforced, or was not, is a promise that does not hold.',
  },
  PL7: {
    id: 'PL7',
    title: 'Built-in Profiles Unchanged',
    why: 'Whoever reads "strict" must be able to rely on what strict is.',
  },
} as const;

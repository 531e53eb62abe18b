/** The rules for profiles. Some apply to the profile itself, others to the result of a run under it. */
export const PL = {
  PL1: { id: 'PL1', title: 'Profile Named', why: 'A run names the profile that it ran under.' },
  PL2: { id: 'PL2', title: 'Profile Complete', why: 'An unstated limit cannot be enforced.' },
  PL3: { id: 'PL3', title: 'Limits Within Bounds', why: 'Every profile must limit time and output.' },
  PL4: {
    id: 'PL4',
    title: 'Model Mode Allowed',
    why: 'A run under strict or default must not depend on a model, so neither may record or replay one.',
  },
  PL5: {
    id: 'PL5',
    title: 'Recording Named',
    why: 'A run that used a model can be reproduced only with the recording.',
  },
  PL6: {
    id: 'PL6',
    title: 'Constraints Enforced',
    why: 'A constraint that is not enforced protects nothing.',
  },
  PL7: {
    id: 'PL7',
    title: 'Built-in Profiles Unchanged',
    why: 'The name "strict" must always mean the same limits.',
  },
} as const;

/** The rules that the documents of a suite's cases share. */
export const CS = {
  known: {
    id: 'CS1',
    title: 'Cases Known',
    why: 'A key with a slip in it would ask for nothing, and the case would pass.',
  },
  named: {
    id: 'CS2',
    title: 'Cases Named Once',
    why: 'Every case id becomes a file name, and two cases in one file would judge each other.',
  },
  input: {
    id: 'CS3',
    title: 'Input Given',
    why: 'Two versions can be compared only if both were asked the same.',
  },
  expected: {
    id: 'CS4',
    title: 'Expectations Judgeable',
    why: 'An expectation that nobody can judge is a promise that nobody keeps.',
  },
} as const;

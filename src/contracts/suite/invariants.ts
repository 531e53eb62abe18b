/** The rules that `cases` and `suite-case` share. */
export const CS = {
  known: {
    id: 'CS1',
    title: 'Cases Known',
    why: 'A misspelled expectation would check nothing, and the case would pass.',
  },
  named: {
    id: 'CS2',
    title: 'Cases Named Once',
    why: 'Each case id becomes a file name, so two cases must not share one.',
  },
  input: {
    id: 'CS3',
    title: 'Input Given',
    why: 'Two versions can be compared only if both received the same input.',
  },
  expected: {
    id: 'CS4',
    title: 'Expectations Judgeable',
    why: 'Proctor must be able to evaluate every expectation.',
  },
} as const;

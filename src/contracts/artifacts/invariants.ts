/** The rules that the four documents of a suite share. Each document says which of its keys a rule is about. */
export const AA = {
  schemaVersion: {
    id: 'AA1',
    title: 'Schema Version',
    why: 'A file that was copied out of its folder must still say by which rules it was meant.',
  },
  portablePaths: {
    id: 'AA2',
    title: 'Portable Paths',
    why: 'A path that holds on one machine alone leads nowhere after the folder was copied, and may lead to a stranger.',
  },
  fullBodies: {
    id: 'AA3',
    title: 'Full Bodies Preserved',
    why: 'A snippet shows that something went wrong; only the body, or an honest account of its cut, shows what.',
  },
  errorClasses: {
    id: 'AA4',
    title: 'Stable Error Classes',
    why: 'Failures of two runs can be compared only if both name them with the same few words.',
  },
  runIdentity: {
    id: 'AA5',
    title: 'Run Identified',
    why: 'Evidence belongs to one run, one side, one moment and one runner, or it belongs to nobody.',
  },
  targetAddress: {
    id: 'AA6',
    title: 'Target Without Credentials',
    why: 'Artifacts are passed around, and a password inside an address would go with them.',
  },
  selectedCases: {
    id: 'AA7',
    title: 'Selected Cases',
    why: 'Every case id becomes a file name: it must be safe, and two cases must never share a file.',
  },
  runSettings: {
    id: 'AA8',
    title: 'Run Settings',
    why: 'A difference between two runs may come from a setting instead of the agent.',
  },
  runStats: {
    id: 'AA9',
    title: 'Stats Add Up',
    why: 'Counts that contradict each other hide cases that were lost.',
  },
  caseNamed: {
    id: 'AA10',
    title: 'Case Envelope',
    why: 'A reader must know to which case and to which side a file belongs before reading the rest.',
  },
  oneVariant: {
    id: 'AA11',
    title: 'One Of Two Variants',
    why: 'A case has a response or a failure; a file with both, or neither, says nothing.',
  },
  attempts: {
    id: 'AA12',
    title: 'Attempts Counted',
    why: 'A success on the third attempt is another finding than a success on the first.',
  },
  finalOutput: {
    id: 'AA13',
    title: 'Final Output',
    why: 'The answer is what cases are judged by, so its form must be certain.',
  },
  proposedActions: {
    id: 'AA14',
    title: 'Proposed Actions',
    why: 'What an agent wants to do, and how risky that is, must be readable without knowing the agent.',
  },
  evidenceRefs: {
    id: 'AA15',
    title: 'Evidence Resolvable',
    why: 'A reference that leads nowhere looks like proof and is none.',
  },
  events: {
    id: 'AA16',
    title: 'Events Well-Formed',
    why: 'Two runs are compared event by event; types that nobody knows yet are skipped, known ones must be whole.',
  },
  runnerFailure: {
    id: 'AA17',
    title: 'Runner Failure Structured',
    why: 'A case that could not be run still has to tell what was tried and how that ended.',
  },
  failureMeta: {
    id: 'AA18',
    title: 'Failure Metadata',
    why: 'Without type and encoding a saved body is a heap of bytes, and its headers may carry secrets.',
  },
  assetsListed: {
    id: 'AA19',
    title: 'Assets Listed Once',
    why: 'A list that names one asset twice, or two assets alike, cannot be looked up.',
  },
  assetDigests: {
    id: 'AA20',
    title: 'Asset Digests',
    why: 'A digest that cannot be computed again protects nothing.',
  },
  agentRun: {
    id: 'AA21',
    title: "Agent's Run Told",
    why: 'An answer says what an agent claims. How its run ended, what it was denied and what it changed is what happened.',
  },
} as const;

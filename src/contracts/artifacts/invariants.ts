import { type Rule, versionRule } from '../rule.ts';

/** The rules that the four documents of a suite run share. Each document lists the keys that a rule applies to. */
export const AA = {
  schemaVersion: {
    id: 'AA1',
    title: 'Schema Version',
    why: 'A file that was copied out of its folder must still say which rules apply to it.',
  },
  portablePaths: {
    id: 'AA2',
    title: 'Portable Paths',
    why: 'A path that is valid on only one machine breaks after the folder is copied, and may point to an unrelated file.',
  },
  fullBodies: {
    id: 'AA3',
    title: 'Full Bodies Preserved',
    why: 'A snippet shows that something went wrong, but only the full body, or a record of its truncation, shows what.',
  },
  errorClasses: {
    id: 'AA4',
    title: 'Stable Error Classes',
    why: 'Failures in two runs can be compared only if both use the same few classes.',
  },
  runIdentity: {
    id: 'AA5',
    title: 'Run Identified',
    why: 'Evidence must identify its run, side, time and runner.',
  },
  targetAddress: {
    id: 'AA6',
    title: 'Target Without Credentials',
    why: 'Artifacts are shared, and a password in a URL would be shared with them.',
  },
  selectedCases: {
    id: 'AA7',
    title: 'Selected Cases',
    why: 'A case id becomes a file name, so it must be safe and unique.',
  },
  runSettings: {
    id: 'AA8',
    title: 'Run Settings',
    why: 'A setting, rather than the agent, may cause a difference between two runs.',
  },
  runStats: {
    id: 'AA9',
    title: 'Stats Add Up',
    why: 'Inconsistent counts hide lost cases.',
  },
  caseNamed: {
    id: 'AA10',
    title: 'Case Envelope',
    why: 'A reader must know which case and side a file belongs to before reading the rest.',
  },
  oneVariant: {
    id: 'AA11',
    title: 'One Of Two Variants',
    why: 'A case has either a response or a failure; a file with both or neither is meaningless.',
  },
  attempts: {
    id: 'AA12',
    title: 'Attempts Counted',
    why: 'Success on the third attempt is a different result from success on the first.',
  },
  finalOutput: {
    id: 'AA13',
    title: 'Final Output',
    why: 'Cases are judged by the answer, so its form must be well defined.',
  },
  proposedActions: {
    id: 'AA14',
    title: 'Proposed Actions',
    why: 'Even a reader who does not know the agent must be able to understand its proposed actions and their risk.',
  },
  evidenceRefs: {
    id: 'AA15',
    title: 'Evidence Resolvable',
    why: 'A broken reference looks like proof but proves nothing.',
  },
  events: {
    id: 'AA16',
    title: 'Events Well-Formed',
    why: 'Two runs are compared event by event. Unknown types are ignored, so known types must be complete.',
  },
  runnerFailure: {
    id: 'AA17',
    title: 'Runner Failure Structured',
    why: 'A case that could not run must still record what was tried and how it ended.',
  },
  failureMeta: {
    id: 'AA18',
    title: 'Failure Metadata',
    why: 'A saved body is unreadable without its type and encoding, and its headers may contain secrets.',
  },
  assetsListed: {
    id: 'AA19',
    title: 'Assets Listed Once',
    why: 'If two assets share an id or href, looking one up is ambiguous.',
  },
  assetDigests: {
    id: 'AA20',
    title: 'Asset Digests',
    why: 'A malformed digest protects nothing.',
  },
  agentRun: {
    id: 'AA21',
    title: "Agent's Run Told",
    why: 'The answer states what the agent claims. agent_run states what happened: how the run ended, what was denied and what changed.',
  },
} as const;

export function artifactVersion(version: string): Rule {
  return { ...versionRule(AA.schemaVersion.id, AA.schemaVersion.title, version, 'an artifact'), ...AA.schemaVersion };
}

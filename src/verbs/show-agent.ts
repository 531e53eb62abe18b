import type { AgentEvaluation } from '../contracts/agent-evaluation/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import type { WorkspaceStatus } from '../contracts/workspace/index.ts';
import {
  type AgentFolder,
  fileOf,
  openAgentIn,
  readAgentFolder,
  transcriptLines,
} from '../evidence/agent/agent-folder.ts';
import type { AgentPlan } from '../evidence/agent/agent-run.ts';
import { type DiffSummary, diffSummary } from '../evidence/agent/diff-summary.ts';
import { shownNames } from '../evidence/agent/shown-names.ts';
import { type LogLine, readLog } from '../evidence/step/log.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { agentEvaluationOf } from '../judge/agent/judge-agent.ts';
import { needsReview } from '../policy/active-changes.ts';
import { type SealNotice, sealNotice } from './judged.ts';
import { type Life, lifeOf } from './recover.ts';
import { type Timeline, timelineOf } from './timeline.ts';
import { wholeness } from './whole.ts';

export interface ShownAgent extends AgentFolder {
  readonly place: RunFolder;
  readonly life: Life;
  /** The plan, while the run is not finished. */
  readonly plan: Pick<AgentPlan, 'asked' | 'agent' | 'startedAtMs'> | undefined;
  readonly timeline: Timeline;
  readonly diff: DiffSummary | undefined;
  /** Changed files that run automatically; undefined if the changes are unknown. */
  readonly needsReview: NonNullable<WorkspaceStatus['needs_review']> | undefined;
  readonly evaluation: AgentEvaluation | undefined;
  /** Whether the evaluation matches its seal; undefined while the run is open. */
  readonly judgement: SealNotice | undefined;
  /** Whether the run folder verifies. */
  readonly isWhole: boolean;
  /** The signing keys that the seal names; null if it is not signed. */
  readonly keyIds: readonly string[] | null;
  readonly log?: readonly LogLine[];
}

/** Reads an agent's run folder; undefined for another kind of run. */
export async function showAgent(
  place: RunFolder,
  withLog: boolean,
  key: Checker | undefined,
): Promise<ShownAgent | undefined> {
  const { folder } = place;
  const read = readAgentFolder(folder);
  const plan = openAgentIn(folder);
  if (!read.outcome && !plan) return undefined;
  const life = lifeOf(place);
  const diff = fileOf(read.manifest, 'workspace_diff');
  const id = read.outcome?.run_id ?? place.id;
  const judged = read.outcome && life === 'finished' ? agentEvaluationOf(folder, key) : undefined;
  return {
    place: { ...place, id },
    ...read,
    life,
    plan,
    timeline: timelineOf(transcriptLines(folder)),
    needsReview: read.workspace && (read.workspace.needs_review ?? reviewByNames(read.workspace)),
    diff: diff === undefined ? undefined : named(diffSummary(folder, diff, FILES_MAX), read),
    evaluation: judged?.evaluation,
    judgement: judged && sealNotice(id, judged.found, judged.found.state === 'sound' ? 'as_sealed' : 'again'),
    ...(await wholeness(folder)),
    ...(withLog && { log: readLog(folder) }),
  };
}

/** Derives the list from file names, for runs of versions that did not write it. */
function reviewByNames({ changed }: WorkspaceStatus): NonNullable<WorkspaceStatus['needs_review']> {
  const names = new Map(changed.listed.map(({ path }) => [Buffer.from(path).toString('latin1'), path]));
  const view = { linkAt: () => undefined, links: [], has: () => false, textsOf: () => undefined };
  const listed = [...needsReview(names.keys(), view)].map(([at, reason]) => ({ path: names.get(at) ?? at, reason }));
  return { total: listed.length, listed };
}

function named(diff: DiffSummary | undefined, { workspace }: AgentFolder): DiffSummary | undefined {
  const shown = shownNames(workspace);
  return diff && { ...diff, files: diff.files.map(file => ({ ...file, path: shown(file.path) })) };
}

const FILES_MAX = 20;

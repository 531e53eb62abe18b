import { closeSync, existsSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { readJson } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import { openRegular, readRegular } from '../base/regular.ts';
import {
  agentOutcome,
  type AgentOutcome,
  agentRequest,
  type AgentRequest,
  agentResult,
  type AgentResult,
  metadata,
  type Metadata,
  policySummary,
  type PolicySummary,
  runnerMetadata,
  type RunnerMetadata,
  stepManifest,
  type StepManifest,
} from '../contracts/agent-step/index.ts';
import type { TranscriptLine } from '../contracts/agent-step/reading.ts';
import { transcriptLine } from '../contracts/agent-step/transcript-line.ts';
import { FAMILIES, type Role } from '../contracts/agent-step/words.ts';
import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { formOf } from '../contracts/form.ts';
import { runner } from '../contracts/runner/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import { count, record } from '../contracts/shape.ts';
import { workspaceStatus, type WorkspaceStatus } from '../contracts/workspace/index.ts';
import { AGENT_FILES } from './agent-documents.ts';
import type { AgentPlan } from './agent-run.ts';
import { JOURNAL, readJournal } from './journal.ts';
import { documentIn } from './read.ts';

/** What a folder says of the run of an agent. Only documents that keep their contract are believed, one by one. */
export interface AgentFolder {
  readonly request: AgentRequest | undefined;
  readonly result: AgentResult | undefined;
  readonly runner: Runner | undefined;
  readonly outcome: AgentOutcome | undefined;
  readonly metadata: Metadata | undefined;
  /** What the step left, by its roles. */
  readonly manifest: StepManifest | undefined;
  readonly runnerMetadata: RunnerMetadata | undefined;
  readonly policy: PolicySummary | undefined;
  readonly workspace: WorkspaceStatus | undefined;
  /** The last words of the agent, as far as they are read; undefined if there are none. */
  readonly finalText: string | undefined;
}

export function readAgentFolder(folder: string): AgentFolder {
  const believed = (file: string | undefined, contract: Contract): unknown =>
    file === undefined ? undefined : documentIn(folder, file, contract);
  const told = believed('evidence/metadata.json', metadata) as Metadata | undefined;
  const manifest = manifestIn(folder, told);
  const ofRole = (role: Role, contract: Contract): unknown => believed(fileOf(manifest, role), contract);
  return {
    request: believed('evidence/request.json', agentRequest) as AgentRequest | undefined,
    result: believed('result.json', agentResult) as AgentResult | undefined,
    runner: believed('evidence/runner.json', runner) as Runner | undefined,
    outcome: believed('evidence/outcome.json', agentOutcome) as AgentOutcome | undefined,
    metadata: told,
    manifest,
    runnerMetadata: ofRole('runner_metadata', runnerMetadata) as RunnerMetadata | undefined,
    policy: ofRole('policy_summary', policySummary) as PolicySummary | undefined,
    workspace: ofRole('workspace_status', workspaceStatus) as WorkspaceStatus | undefined,
    finalText: finalTextIn(folder, manifest),
  };
}

/** What was decided before an agent started that is not finished; undefined if no such run lies here. */
export function openAgentIn(folder: string): Pick<AgentPlan, 'asked' | 'agent' | 'startedAtMs'> | undefined {
  if (!existsSync(path.join(folder, JOURNAL))) return undefined;
  try {
    return readJournal<unknown>(folder).lines.find(isPlanned)?.plan;
  } catch {
    // It is another's, or has gone in this moment, since the run is finished.
    return undefined;
  }
}

function isPlanned(line: unknown): line is { readonly plan: AgentPlan } {
  for (const _ of formOf(plannedShape).faults(line, '')) return false;
  return true;
}

/** What is used of a plan before anything of it is judged. */
const plannedShape = record({
  is: z.literal('planned'),
  plan: record({
    request: record({ run_id: z.string(), kind: z.literal('agent') }),
    asked: record({ rendered_task_text: z.string() }),
    agent: record({ family: z.enum(FAMILIES), version: z.string() }),
    startedAtMs: count().check(z.lte(253_402_300_799_999)),
  }),
});

/** The file that holds the evidence of a role, relative to the folder; what an adapter calls it is of no account. */
export function fileOf(manifest: StepManifest | undefined, role: Role): string | undefined {
  return manifest?.artifacts.find(artifact => artifact.role === role)?.path;
}

/**
 * What an agent said and did, line by line and in flat memory; of one that is not finished, as far as it has come. Lines
 * that do not keep their contract are passed over.
 */
export function* transcriptLines(folder: string): Generator<TranscriptLine> {
  const isOpen = existsSync(path.join(folder, JOURNAL));
  const file = fileOf(manifestIn(folder), 'runner_transcript') ?? (isOpen ? AGENT_FILES.transcript : undefined);
  const fd = file === undefined ? undefined : openRegular(path.join(folder, file));
  if (fd === undefined) return;
  try {
    for (const { bytes } of linesOf(fd, transcriptLine.bytesMax, 0, TRANSCRIPT_BYTES_MAX)) {
      const reading = bytes && readJson(bytes, { bytesMax: transcriptLine.bytesMax });
      if (!reading?.ok) continue;
      const { violations } = check(transcriptLine, reading.value, { strict: false, internal: false });
      if (violations.length === 0) yield reading.value as TranscriptLine;
    }
  } finally {
    closeSync(fd);
  }
}

/** As much as is written of an agent, at most. */
const TRANSCRIPT_BYTES_MAX = 256 * 1024 * 1024;

/** The manifest of the step that the run ended with. */
function manifestIn(
  folder: string,
  told = documentIn(folder, 'evidence/metadata.json', metadata) as Metadata | undefined,
): StepManifest | undefined {
  if (!told) return undefined;
  const file = path.posix.join(told.artifacts_root, told.last_step_id ?? told.entry_step, 'manifest.json');
  return documentIn(folder, file, stepManifest) as StepManifest | undefined;
}

function finalTextIn(folder: string, manifest: StepManifest | undefined): string | undefined {
  const file = fileOf(manifest, 'runner_final_response');
  return file === undefined ? undefined : readRegular(path.join(folder, file), FINAL_BYTES_MAX)?.toString();
}

const FINAL_BYTES_MAX = 16 * 1024 * 1024;

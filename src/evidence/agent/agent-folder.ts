import { closeSync, existsSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { linesOf } from '../../base/lines.ts';
import { openRegularBelow, readBelow } from '../../base/regular.ts';
import {
  agentOutcome,
  type AgentOutcome,
  agentRequest,
  type AgentRequest,
  agentResult,
  type AgentResult,
  metadata as metadataContract,
  type Metadata,
  policySummary,
  type PolicySummary,
  runnerMetadata,
  type RunnerMetadata,
  stepManifest,
  type StepManifest,
} from '../../contracts/agent-step/index.ts';
import { attemptShape } from '../../contracts/agent-step/attempt.ts';
import type { TranscriptLine } from '../../contracts/agent-step/reading.ts';
import { transcriptLine } from '../../contracts/agent-step/transcript-line.ts';
import { FAMILIES, type Role } from '../../contracts/agent-step/words.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import type { Contract } from '../../contracts/contract.ts';
import { runner } from '../../contracts/runner/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { count, record } from '../../contracts/shape.ts';
import { workspaceStatus, type WorkspaceStatus } from '../../contracts/workspace/index.ts';
import { AGENT_FILES } from './agent-documents.ts';
import { checksIn } from './check-steps.ts';
import type { AgentPlan } from './agent-run.ts';
import { JOURNAL, readJournal } from '../run-folder/journal.ts';
import { documentIn, hasShape, soundDocument } from '../document.ts';

/** The documents of an agent run. A document that violates its contract is undefined here. */
export interface AgentFolder {
  readonly request: AgentRequest | undefined;
  readonly result: AgentResult | undefined;
  readonly runner: Runner | undefined;
  readonly outcome: AgentOutcome | undefined;
  readonly metadata: Metadata | undefined;
  readonly manifest: StepManifest | undefined;
  readonly runnerMetadata: RunnerMetadata | undefined;
  readonly policy: PolicySummary | undefined;
  readonly workspace: WorkspaceStatus | undefined;
  /** The agent's final response, up to 16 MiB. */
  readonly finalText: string | undefined;
  /** The results of the checks, in their order. */
  readonly checks: readonly CheckResult[];
}

export function readAgentFolder(folder: string): AgentFolder {
  const metadata = metadataIn(folder);
  const manifest = manifestIn(folder, metadata);
  const request = documentIn(folder, 'evidence/request.json', agentRequest) as AgentRequest | undefined;
  const ofRole = (role: Role, contract: Contract): unknown => {
    const file = fileOf(manifest, role);
    return file === undefined ? undefined : documentIn(folder, file, contract);
  };
  return {
    request,
    result: documentIn(folder, 'result.json', agentResult) as AgentResult | undefined,
    runner: documentIn(folder, 'evidence/runner.json', runner) as Runner | undefined,
    outcome: documentIn(folder, 'evidence/outcome.json', agentOutcome) as AgentOutcome | undefined,
    metadata,
    manifest,
    runnerMetadata: ofRole('runner_metadata', runnerMetadata) as RunnerMetadata | undefined,
    policy: ofRole('policy_summary', policySummary) as PolicySummary | undefined,
    workspace: ofRole('workspace_status', workspaceStatus) as WorkspaceStatus | undefined,
    finalText: finalTextIn(folder, manifest),
    checks: checksIn(folder, request?.checks ?? []),
  };
}

/** Reads the plan of an agent run that is not finished; undefined if the folder contains no such run. */
export function openAgentIn(folder: string): Pick<AgentPlan, 'asked' | 'agent' | 'startedAtMs'> | undefined {
  if (!existsSync(path.join(folder, JOURNAL))) return undefined;
  try {
    return readJournal<unknown>(folder).lines.find(isPlanned)?.plan;
  } catch {
    // The journal belongs to another user, or the run finished a moment ago.
    return undefined;
  }
}

function isPlanned(line: unknown): line is { readonly plan: AgentPlan } {
  return hasShape(line, plannedShape);
}

/** The parts of a journal line that callers of `openAgentIn` rely on. */
const plannedShape = record({
  is: z.literal('planned'),
  plan: record({
    request: record({ run_id: z.string(), kind: z.literal('agent') }),
    asked: record({ rendered_task_text: z.string(), attempt: z.optional(attemptShape) }),
    agent: record({ family: z.enum(FAMILIES), version: z.string() }),
    startedAtMs: count().check(z.lte(253_402_300_799_999)),
  }),
});

/**
 * Returns the path of the file with the given role, relative to the folder. Adapters choose the file names, so look
 * files up by role.
 */
export function fileOf(manifest: StepManifest | undefined, role: Role): string | undefined {
  return manifest?.artifacts.find(artifact => artifact.role === role)?.path;
}

/**
 * Reads the transcript line by line, in constant memory. If the run is open, stops at the last complete line. Skips
 * lines that violate their contract.
 */
export function* transcriptLines(folder: string): Generator<TranscriptLine> {
  const isOpen = existsSync(path.join(folder, JOURNAL));
  const file = fileOf(manifestIn(folder), 'runner_transcript') ?? (isOpen ? AGENT_FILES.transcript : undefined);
  const fd = file === undefined ? undefined : openRegularBelow(folder, file);
  if (fd === undefined) return;
  try {
    for (const { bytes } of linesOf(fd, transcriptLine.bytesMax, 0, TRANSCRIPT_BYTES_MAX)) {
      const line = bytes && (soundDocument(bytes, transcriptLine) as TranscriptLine | undefined);
      if (line) yield line;
    }
  } finally {
    closeSync(fd);
  }
}

const TRANSCRIPT_BYTES_MAX = 256 * 1024 * 1024;

function manifestIn(folder: string, metadata = metadataIn(folder)): StepManifest | undefined {
  if (!metadata) return undefined;
  const { artifacts_root, entry_step } = metadata;
  // Checks are further steps. The agent's is always the first.
  const file = path.posix.join(artifacts_root, entry_step, 'manifest.json');
  return documentIn(folder, file, stepManifest) as StepManifest | undefined;
}

function metadataIn(folder: string): Metadata | undefined {
  return documentIn(folder, 'evidence/metadata.json', metadataContract) as Metadata | undefined;
}

function finalTextIn(folder: string, manifest: StepManifest | undefined): string | undefined {
  const file = fileOf(manifest, 'runner_final_response');
  return file === undefined ? undefined : readBelow(folder, file, FINAL_BYTES_MAX)?.toString();
}

const FINAL_BYTES_MAX = 16 * 1024 * 1024;

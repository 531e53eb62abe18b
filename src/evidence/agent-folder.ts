import { closeSync } from 'node:fs';
import path from 'node:path';
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
import type { Role } from '../contracts/agent-step/words.ts';
import { check } from '../contracts/check.ts';
import type { Contract } from '../contracts/contract.ts';
import { runner } from '../contracts/runner/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
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
  /** The last words of the agent, as far as they are read; undefined if there are none. */
  readonly finalText: string | undefined;
}

export function readAgentFolder(folder: string): AgentFolder {
  const believed = <Document>(file: string | undefined, contract: Contract): Document | undefined =>
    file === undefined ? undefined : (documentIn(folder, file, contract) as Document | undefined);
  const told = believed<Metadata>('evidence/metadata.json', metadata);
  const manifest = manifestIn(folder, told);
  return {
    request: believed('evidence/request.json', agentRequest),
    result: believed('result.json', agentResult),
    runner: believed('evidence/runner.json', runner),
    outcome: believed('evidence/outcome.json', agentOutcome),
    metadata: told,
    manifest,
    runnerMetadata: believed(fileOf(manifest, 'runner_metadata'), runnerMetadata),
    policy: believed(fileOf(manifest, 'policy_summary'), policySummary),
    finalText: finalTextIn(folder, manifest),
  };
}

/** The file that holds the evidence of a role, relative to the folder; what an adapter calls it is of no account. */
export function fileOf(manifest: StepManifest | undefined, role: Role): string | undefined {
  return manifest?.artifacts.find(artifact => artifact.role === role)?.path;
}

/** What an agent said and did, line by line and in flat memory. Lines that do not keep their contract are passed over. */
export function* transcriptLines(folder: string): Generator<TranscriptLine> {
  const file = fileOf(manifestIn(folder), 'runner_transcript');
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

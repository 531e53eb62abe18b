import { closeSync } from 'node:fs';
import type { ModelTurn } from '../../adapters/claude-turn.ts';
import { agentNamed } from '../../adapters/agents.ts';
import { objectIn } from '../../adapters/json-values.ts';
import { linesOf } from '../../base/lines.ts';
import { openRegularBelow } from '../../base/regular.ts';
import { AGENT_FILES } from '../../evidence/agent/agent-documents.ts';

/** The model answers that an agent's native stream reports, in order. Empty if its agent does not report them. */
export function* turnsIn(folder: string, family: string): Generator<ModelTurn & { readonly nativeLine: number }> {
  const turnIn = agentNamed(family)?.turnIn;
  const fd = turnIn && openRegularBelow(folder, AGENT_FILES.stdout);
  if (!turnIn || fd === undefined) return;
  try {
    for (const { number, bytes } of linesOf(fd, LINE_BYTES_MAX, 0, STREAM_BYTES_MAX)) {
      // Most lines are not answers, and parsing them all would take as long as reading the transcript.
      const turn = bytes?.includes('"usage"') ? turnIn(parsed(bytes)) : undefined;
      if (turn) yield { ...turn, nativeLine: number };
    }
  } finally {
    closeSync(fd);
  }
}

const LINE_BYTES_MAX = 1024 * 1024;
const STREAM_BYTES_MAX = 256 * 1024 * 1024;

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    return objectIn(JSON.parse(bytes.toString())) ?? {};
  } catch {
    return {};
  }
}

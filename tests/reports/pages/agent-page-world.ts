import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AgentEvent, TranscriptLine } from '../../../src/contracts/agent-step/reading.ts';
import { outcomeExample } from '../../../src/contracts/agent-step/outcome-example.ts';
import { workspaceStatus, type WorkspaceStatus } from '../../../src/contracts/workspace/index.ts';
import { policySummary, type PolicySummary } from '../../../src/contracts/agent-step/policy-summary.ts';
import type { StepManifest } from '../../../src/contracts/agent-step/index.ts';
import type { AgentPageInput } from '../../../src/reports/pages/agent-page.ts';

/** Text that would do harm if a page showed it as HTML, or hide if it showed it as it is. */
export const HOSTILE =
  '</script><img src=x onerror="document.title=\'owned\'"><b>bold</b> \u202egnp.exe\u202c \u0007 \u200b \ud83d\ude00';

/** Transcript lines with ascending numbers, one native line each. */
export function linesFrom(events: Iterable<AgentEvent & { readonly at?: number }>): TranscriptLine[] {
  return [...events].map(({ at, ...event }, index) =>
    Object.assign(event, {
      schema_version: 'transcript-line.v1' as const,
      seq: index + 1,
      at_ms: at ?? index * 10,
      native_line: index + 1,
    }),
  );
}

export function* manyCalls(count: number, text = 'ok'): Generator<AgentEvent> {
  for (let index = 0; index < count; index++) {
    const call = `call-${index}`;
    yield { kind: 'tool_call', call, tool: `tool-${index % 9}`, input: { text: `{"n":${index}}` } };
    yield { kind: 'tool_result', call, ok: index % 7 !== 0, output: { text }, exit_code: index % 7 === 0 ? 1 : null };
  }
}

/** What a finished run says about itself, with a diff in its folder. */
export function pageInput(folder: string, over: Partial<AgentPageInput> = {}, diff = DIFF): AgentPageInput {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'workspace.diff'), diff);
  const workspace = structuredClone(workspaceStatus.example) as WorkspaceStatus;
  const listed = ['src/total.ts', 'ci.yml'].map(
    one => ({ path: one, change: 'add', bytes: 10, mode: '100644' }) as const,
  );
  const manifest = {
    artifacts: [{ role: 'workspace_diff', path: 'workspace.diff', media_type: 'text/x-diff' }],
  } as unknown as StepManifest;
  return {
    place: { id: 'agent_20260403_101500_4f1c9a7be210', folder },
    name: 'agent_20260403_101500_4f1c9a7be210',
    life: 'finished',
    plan: undefined,
    planned: undefined,
    request: undefined,
    result: undefined,
    runner: undefined,
    outcome: structuredClone(outcomeExample),
    metadata: undefined,
    manifest,
    runnerMetadata: undefined,
    policy: { ...(policySummary.example as PolicySummary), violations: [] },
    workspace: { ...workspace, changed: { total: 2, listed: [...listed] } },
    finalText: 'I added the function.',
    checks: [],
    needsReview: { total: 1, listed: [{ path: 'ci.yml', reason: 'the server runs it on a push' }] },
    evaluation: {
      schema_version: 'agent-evaluation.v1',
      run_id: 'agent_20260403_101500_4f1c9a7be210',
      generated_at: '2026-04-03T10:21:44.000Z',
      judge_version: '0.1.0',
      seal_sha256: `sha256:${'a'.repeat(64)}`,
      flags: [],
    },
    judgement: { message: null },
    isWhole: true,
    keyIds: null,
    key: undefined,
    lines: linesFrom(manyCalls(3)),
    turns: [],
    ...over,
  };
}

export const DIFF = `diff --git a/src/total.ts b/src/total.ts
new file mode 100644
--- /dev/null
+++ b/src/total.ts
@@ -0,0 +1,3 @@
+/* Adds
+   all numbers. */
+export const total = (all: number[]) => all.reduce((a, b) => a + b, 0);
diff --git a/ci.yml b/ci.yml
--- a/ci.yml
+++ b/ci.yml
@@ -1,2 +1,2 @@
 on: push
-jobs: {}
+jobs: { all: "yes" } # every push
`;

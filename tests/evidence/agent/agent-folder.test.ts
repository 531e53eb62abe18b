import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENT_FILES } from '../../../src/evidence/agent/agent-documents.ts';
import { openAgentIn, readAgentFolder, transcriptLines } from '../../../src/evidence/agent/agent-folder.ts';
import { diffSummary } from '../../../src/evidence/agent/diff-summary.ts';
import { timelineOf } from '../../../src/verbs/timeline.ts';
import { temporaryFolder } from '../../support/support.ts';
import { agentFolder, DIFF, EVENTS, type Happening, planOf, text, transcriptOf } from './agent-world.ts';

const TRANSCRIPT = 'evidence/steps/agent/transcript.ndjson';

describe('an agent run folder', () => {
  test('is read through its manifest', async () => {
    const folder = await agentFolder(temporaryFolder());
    const read = readAgentFolder(folder);
    expect(Object.entries(read).filter(([, document]) => document === undefined)).toEqual([]);
    expect(read.finalText).toBe('I added a test for parse(), and all tests pass.');
    expect([...transcriptLines(folder)].map(({ kind }) => kind)).toEqual(EVENTS.map(({ kind }) => kind));
  });

  test('is read without documents that violate their contracts', async () => {
    const folder = await agentFolder(temporaryFolder());
    writeFileSync(path.join(folder, 'evidence/outcome.json'), '{"schema_version":"agent-outcome.v1"}');
    rmSync(path.join(folder, 'result.json'));
    symlinkSync(path.join(folder, 'evidence/metadata.json'), path.join(folder, 'result.json'));
    const { outcome, result, request, policy } = readAgentFolder(folder);
    expect({ outcome, result }).toEqual({ outcome: undefined, result: undefined });
    expect([request?.agent_family, policy?.effective.network_posture]).toEqual(['claude_cli', 'deny']);
  });

  test('has only the transcript that its manifest names', async () => {
    const folder = await agentFolder(temporaryFolder());
    rmSync(path.join(folder, 'evidence/steps/agent/manifest.json'));
    expect([...transcriptLines(folder)]).toEqual([]);
    expect(readAgentFolder(folder).policy).toBeUndefined();
  });

  test('is read without its invalid transcript lines', async () => {
    const folder = await agentFolder(temporaryFolder());
    const lines = ['{"schema_version":"transcript-line.v1"}', 'no JSON', '', '\u0000', `"${'x'.repeat(2_000_000)}"`];
    appendFileSync(path.join(folder, TRANSCRIPT), `${lines.join('\n')}\n${transcriptOf(EVENTS.slice(0, 1)).trim()}`);
    expect([...transcriptLines(folder)]).toHaveLength(EVENTS.length + 1);
  });

  test('that is not finished returns its plan and the transcript so far', () => {
    const folder = path.join(temporaryFolder(), 'run');
    mkdirSync(path.join(folder, 'evidence/steps/agent'), { recursive: true });
    expect(openAgentIn(folder)).toBeUndefined();
    writeFileSync(path.join(folder, 'journal.ndjson'), `${JSON.stringify({ is: 'planned', plan: planOf() })}\n`, {
      mode: 0o600,
    });
    writeFileSync(path.join(folder, AGENT_FILES.transcript), `${transcriptOf(EVENTS.slice(0, 3))}{"schema_ver`);
    expect(openAgentIn(folder)?.asked.rendered_task_text).toMatch(/^Add a test/);
    expect([...transcriptLines(folder)]).toHaveLength(3);
    writeFileSync(path.join(folder, 'journal.ndjson'), '{"is":"planned","plan":{"request":{"kind":"agent"}}}\n');
    expect(openAgentIn(folder)).toBeUndefined();
  });
});

test('reads a transcript of 100 MB in constant memory', async () => {
  const folder = await agentFolder(temporaryFolder());
  const line = transcriptOf([{ kind: 'message', role: 'assistant', body: text('x'.repeat(60_000)) }]);
  writeFileSync(path.join(folder, TRANSCRIPT), line.repeat(1_700));
  const before = process.memoryUsage().rss;
  let count = 0;
  let most = 0;
  for (const _ of transcriptLines(folder)) {
    count++;
    if (count % 100 === 0) most = Math.max(most, process.memoryUsage().rss - before);
  }
  expect(count).toBe(1_700);
  expect(most / 2 ** 20).toBeLessThan(80);
});

describe('a diff', () => {
  const summed = (diff: string, filesMax?: number) => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'a.diff'), diff);
    return diffSummary(folder, 'a.diff', filesMax);
  };

  test('counts lines by hunks, not by what the lines look like', () => {
    expect(summed(DIFF)).toEqual({
      total: 2,
      added: 3,
      removed: 1,
      files: [
        { path: 'src/parse.ts', change: 'update', added: 2, removed: 1, binary: false },
        { path: 'tests/parse.test.ts', change: 'add', added: 1, removed: 0, binary: false },
      ],
    });
  });

  test('handles deletions, renames, mode changes, quoted names and binary files', () => {
    const diff = [
      'diff --git a/gone.txt b/gone.txt',
      'deleted file mode 100644',
      '--- a/gone.txt',
      '+++ /dev/null',
      '@@ -1,2 +0,0 @@',
      '-a',
      '--- b/gone.txt',
      '\\ No newline at end of file',
      'diff --git "a/\\303\\244\\t.txt" "b/\\303\\244\\t.txt"',
      'old mode 100644',
      'new mode 100755',
      'diff --git a/old name.txt b/new name.txt',
      'similarity index 100%',
      'rename from old name.txt',
      'rename to new name.txt',
      'diff --git a/b.bin b/b.bin',
      'new file mode 100644',
      'GIT binary patch',
      'literal 3',
      'Kcmb1PfB*mh+++',
      '',
      'literal 0',
      'HcmV?d00001',
      '',
    ].join('\n');
    const shown = summed(diff)?.files.map(({ path: file, change, removed, binary }) => [file, change, removed, binary]);
    expect(shown).toEqual([
      ['gone.txt', 'delete', 2, false],
      ['ä\t.txt', 'update', 0, false],
      ['new name.txt', 'rename', 0, false],
      ['b.bin', 'add', 0, true],
    ]);
  });

  test('counts all files but lists only some', () => {
    const diff = Array.from({ length: 50 }, (_, index) => DIFF.replaceAll('parse', `p${index}`)).join('');
    expect(summed(diff, 3)).toMatchObject({ total: 100, added: 150, files: [{}, {}, {}] });
    expect(summed(diff, 3)?.files).toHaveLength(3);
    expect(summed('')).toEqual({ total: 0, added: 0, removed: 0, files: [] });
    expect(diffSummary(temporaryFolder(), 'none.diff')).toBeUndefined();
  });

  test('returns an empty summary for a file that is not a diff', () => {
    expect(summed('hello\n@@ -1 +1 @@\n+x\n')).toMatchObject({ total: 0 });
    expect(summed(`diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+${'x'.repeat(20_000_000)}\n`)).toMatchObject(
      {
        added: 1,
        removed: 1,
      },
    );
  });
});

describe('a timeline', () => {
  const timeline = (events: readonly Happening[]) =>
    timelineOf(
      transcriptOf(events)
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as never),
    );
  const call = (id: string, atMs: number): Happening => ({
    kind: 'tool_call',
    call: id,
    tool: 'Bash',
    input: text('{}'),
    command: text(`run ${id}`),
    atMs,
  });
  const answer = (id: string, atMs: number, ok = true): Happening => ({
    kind: 'tool_result',
    call: id,
    ok,
    output: text(''),
    exit_code: ok ? 0 : 3,
    atMs,
  });

  test('shows a call, its answer and its change as one moment', () => {
    const { moments, calls } = timeline(EVENTS);
    expect(moments.map(({ what, tool, state }) => [what, tool, state])).toEqual([
      ['call', 'Read', 'ok'],
      ['call', 'Write', 'ok'],
      ['call', 'Bash', 'ok'],
      ['final', '', 'ok'],
    ]);
    expect(moments[2]).toMatchObject({ about: 'npm test', tookMs: 49_000, exitCode: 0, seq: 8 });
    expect(calls).toEqual({ total: 3, failed: 0, denied: 0 });
  });

  test('counts a denied call as denied, whichever line comes first', () => {
    const denial: Happening = { kind: 'denial', call: 'a', tool: 'Bash', reason: 'no', atMs: 2 };
    for (const events of [
      [call('a', 1), denial, answer('a', 3, false)],
      [call('a', 1), answer('a', 2, false), denial],
    ]) {
      const { moments, calls, denials } = timeline(events);
      expect(moments.map(({ state }) => state)).toEqual(['denied']);
      expect(calls).toEqual({ total: 1, failed: 0, denied: 1 });
      expect(denials).toMatchObject([{ tool: 'Bash', reason: 'no', count: 1 }]);
    }
    expect(timeline([{ ...denial, call: null }]).moments).toMatchObject([{ what: 'denial', state: 'denied' }]);
  });

  test('shows a pause only while neither the agent nor a tool works', () => {
    const end: Happening = { kind: 'final', ok: false, body: null, atMs: 100_000 };
    expect(
      timeline([call('a', 0), answer('a', 40_000), end]).moments.map(({ what, tookMs }) => [what, tookMs]),
    ).toEqual([
      ['call', 40_000],
      ['pause', 60_000],
      ['final', null],
    ]);
  });

  test('keeps its beginning and its end when it is long', () => {
    const events = Array.from({ length: 500 }, (_, index) => [
      call(`c${index}`, index),
      answer(`c${index}`, index, index % 2 === 0),
    ]).flat();
    const { moments, omitted, calls } = timeline(events);
    expect(moments).toHaveLength(40);
    expect([moments[0]?.about, moments[39]?.about]).toEqual(['run c0', 'run c499']);
    expect(omitted).toEqual({ after: 20, count: 460 });
    expect(calls).toEqual({ total: 500, failed: 250, denied: 0 });
  });

  test('shows many retries as one moment', () => {
    const retry = (atMs: number): Happening => ({
      kind: 'retry',
      attempt: 1,
      status: 529,
      message: 'overloaded',
      atMs,
    });
    expect(timeline([retry(0), retry(5_000), retry(9_000)]).moments).toMatchObject([
      { what: 'retry', about: '529: overloaded', tookMs: 9_000 },
    ]);
  });
});

test('returns the final response byte for byte from the file that the manifest names', async () => {
  const folder = await agentFolder(temporaryFolder(), { finalText: 'ä\u0000\n' });
  expect(readAgentFolder(folder).finalText).toBe('ä\u0000\n');
  expect(readFileSync(path.join(folder, 'evidence/steps/agent/final_response.txt'), 'utf8')).toBe('ä\u0000\n');
});

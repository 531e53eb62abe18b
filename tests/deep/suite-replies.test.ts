import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bytesHash } from '../../src/base/hash.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { SuiteReply } from '../../src/contracts/suite/index.ts';
import { Agent, type answersWell, answerTo, json } from '../run/suite/agent.ts';
import { expectValid, ranSuite } from '../run/suite/support.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { Place, until } from '../support/runs.ts';
import { proctor } from '../support/support.ts';
import { forgedRun, REPLIES } from '../verify/forged-run.ts';

const CASES = 200;
const KILLS = 12;

/** Answers after a moment. Every third reply is stored in a separate file, and every fifth requires a repair. */
const answer =
  (index: number): typeof answersWell =>
  (seen, response) => {
    const content = index % 3 === 0 ? 'x'.repeat(80_000) : `Answer ${index}`;
    const output = index % 5 === 0 ? content : { content_type: 'text', content };
    setTimeout(() => json(response, answerTo(seen, { final_output: output })), 5 + (index % 7));
  };

const wholeLines = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];

/** The cases in a journal, with the hash of the reply that each states. */
function finishedIn(folder: string): Map<string, string> {
  const finished = new Map<string, string>();
  for (const line of wholeLines(path.join(folder, 'journal.ndjson'))) {
    const [text = '', code = ''] = line.split('\t');
    if (!text.startsWith('{"is":"case"') || code.length !== 43) continue;
    const { id, artifact } = JSON.parse(text) as { id: string; artifact: CaseArtifact };
    finished.set(id, artifact.attempts?.at(-1)?.reply_sha256 ?? '');
  }
  return finished;
}

const repliesIn = (folder: string): SuiteReply[] =>
  wholeLines(path.join(folder, REPLIES)).map(line => JSON.parse(line) as SuiteReply);

describe('a suite that is killed again and again', () => {
  test(`never sends an answered case again, and keeps one reply per case (seed ${SEED})`, async () => {
    const random = randomFrom(SEED);
    const place = new Place();
    onTestFinished(() => place.remove());
    const ids = Array.from({ length: CASES }, (_, index) => `case-${index}`);
    const agent = new Agent(Object.fromEntries(ids.map((id, index) => [id, answer(index)])));
    place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
    const args = ['run', 'suite', 'cases.jsonl', '--base-url', await agent.start(), '--as', 'new', '--run-id', 'r1'];
    const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'r1');
    let run = place.start([...args, '--concurrency', '8']);
    const asked = new Map<string, number>();
    for (let kill = 1; kill <= KILLS; kill++) {
      const before = agent.seen.length;
      await until('a few more cases were asked', () => agent.seen.length > before + 10 || run.isOver);
      await wait(random() * 25);
      run.kill('SIGKILL');
      const { code } = await run.ended;
      if (code === 0) break;
      const replies = new Map(repliesIn(folder).map(({ case_id, sha256 }) => [case_id, sha256]));
      for (const [id, sha256] of finishedIn(folder)) {
        expect(replies.get(id), id).toBe(sha256);
        asked.set(id, asked.get(id) ?? agent.times(id));
        expect(agent.times(id), id).toBe(asked.get(id));
      }
      run = place.start(['run', 'suite', '--resume', 'r1']);
    }
    const { stderr } = await run.ended;
    for (const [id, times] of asked) expect(agent.times(id), `${id}: ${stderr}`).toBe(times);
    expect(asked.size).toBeGreaterThan(KILLS);
    const artifacts = ids.map(id => JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact);
    const stated = artifacts.map(
      ({ case_id, attempts = [] }) => `${case_id}/${attempts.length} ${attempts.at(-1)?.reply_sha256 ?? ''}`,
    );
    const stored = repliesIn(folder);
    expect(stored.map(({ case_id, attempt, sha256 }) => `${case_id}/${attempt} ${sha256}`).sort()).toEqual(
      stated.sort(),
    );
    const files = readdirSync(path.join(folder, 'assets')).filter(name => name.endsWith('.reply'));
    expect(files).toHaveLength(stored.filter(({ href }) => href !== undefined).length);
    await expectValid(folder);
  });
});

test('verifies 100,000 replies in a small heap', async () => {
  const { folder } = await ranSuite(['one'], { baseUrl: await new Agent().start() });
  const body = JSON.stringify({ final_output: 'x'.repeat(1_000), events: [{ type: 'tool_call', tool: 't' }] });
  const reply = { schema_version: 'suite-reply.v1', attempt: 1, body, sha256: bytesHash(body), bytes: body.length };
  const forged = await forgedRun(folder, copy => {
    for (let from = 0; from < 100_000; from += 1_000) {
      const lines = Array.from({ length: 1_000 }, (_, index) =>
        JSON.stringify({ ...reply, case_id: `c-${from + index}` }),
      );
      appendFileSync(path.join(copy.folder, REPLIES), `${lines.join('\n')}\n`);
    }
  });
  const { code, stdout, stderr } = proctor(['verify', forged], { env: { NODE_OPTIONS: '--max-old-space-size=192' } });
  expect(code, stdout + stderr).toBe(0);
});

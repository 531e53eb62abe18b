import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Place, place, until } from '../support/runs.ts';

/** Answers with the requested number of characters. */
const AGENT = `import json
question = json.load(open("input/case.json"))
text = "ax" * (int(question["input"]["user"]) // 2) + "!"
print(json.dumps({"case_id": question["case_id"], "version": question["version"], "final_output": {"content_type": "text", "content": json.dumps({"a": text})}}))
`;

/** Each character starts three thousand attempts to match. */
const SLOW = String.raw`\p{L}{0,1000}\p{L}{0,1000}\p{L}{0,1000}x$`;

interface Case {
  readonly id: string;
  readonly characters: number;
  readonly expected: Record<string, unknown>;
}

function furnished(cases: readonly Case[]): { here: Place; folder: () => string } {
  const here = place();
  here.file('agent.py', AGENT);
  const lines = cases.map(({ id, characters, expected }) =>
    JSON.stringify({ id, input: { user: String(characters) }, expected }),
  );
  here.file('cases.jsonl', `${lines.join('\n')}\n`);
  const runs = path.join(here.cwd, '.proctor', 'runs', 'new');
  return { here, folder: () => path.join(runs, existsSync(runs) ? (readdirSync(runs)[0] ?? 'none') : 'none') };
}

const SUITE = ['run', 'suite', 'cases.jsonl', '--script', 'agent.py', '--as', 'new'];

describe('a pattern', () => {
  test('that exceeds its step limit makes only its own case an error', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: SLOW } } };
    const { here, folder } = furnished([
      { id: 'regex', characters: 150_000, expected: { regex: SLOW } },
      { id: 'schema', characters: 150_000, expected: { json_schema: schema } },
      { id: 'path', characters: 150_000, expected: { json_path: [{ path: '$.a', regex: SLOW }] } },
      { id: 'short', characters: 100, expected: { not_regex: SLOW, json_schema: schema } },
      { id: 'usual', characters: 150_000, expected: { regex: 'x!' } },
    ]);
    here.proctor(SUITE);
    const { cases } = JSON.parse(readFileSync(path.join(folder(), 'evaluation.json'), 'utf8')) as Evaluation;
    const verdicts = Object.fromEntries(cases.map(({ case_id, verdict }) => [case_id, verdict]));
    expect(verdicts).toEqual({ regex: 'error', schema: 'error', path: 'error', short: 'fail', usual: 'pass' });
    const messages = cases.filter(({ verdict }) => verdict === 'error').map(({ assertions }) => assertions[0]?.message);
    expect(new Set(messages)).toEqual(
      new Set(['The pattern takes too many steps on a text of this length. Use smaller counts, or split it.']),
    );
  });

  test('that takes long to evaluate does not block signals', async () => {
    const { here, folder } = furnished(
      ['a', 'b', 'c', 'd'].map(id => ({ id, characters: 40_000, expected: { regex: SLOW } })),
    );
    const suite = here.start(SUITE);
    await until('the run is sealed', () => existsSync(path.join(folder(), 'evidence', 'seal.json')));
    suite.kill('SIGINT');
    const { code } = await suite.ended;
    expect(code).toBe(130);
    expect(existsSync(path.join(folder(), 'evaluation.json'))).toBe(false);
  });

  test.each([
    ['(?:a{0,1000})'.repeat(460), /instructions: use smaller counts, or split it/],
    ['((((x{10}){10}){10}){10}){10}', /instructions: use smaller counts, or split it/],
  ])('with too many instructions is refused before it is compiled (%#)', (pattern, says) => {
    for (const expected of [{ regex: pattern }, { json_schema: { pattern } }]) {
      const { here } = furnished([{ id: 'a', characters: 2, expected }]);
      expect(here.proctor(SUITE)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
    }
  });
});

interface Evaluation {
  readonly cases: readonly {
    readonly case_id: string;
    readonly verdict: string;
    readonly assertions: readonly { readonly message: string | null }[];
  }[];
}

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { Place } from '../../support/runs.ts';
import { expectValid, ranSuite } from './support.ts';

afterAll(closeLauncher);

const AGENT = `
import json, os, sys, time
question = json.load(open("input/case.json"))
case = question["case_id"]
if case == "crash": sys.exit(3)
if "hang" in (case, question["input"]["user"]): time.sleep(60)
if case == "garbage":
    print("hello")
    sys.exit(0)
if case == "curious":
    import socket
    try:
        socket.create_connection(("127.0.0.1", 9), 1)
        said = "connected"
    except OSError as error:
        said = "no network"
else:
    said = question["input"]["user"].upper()
reply = {"case_id": case, "version": question["version"], "final_output": {"content_type": "text", "content": said}}
if case == "file":
    os.makedirs("output", exist_ok=True)
    json.dump(reply, open("output/reply.json", "w"))
    print("talking to itself")
else:
    print(json.dumps(reply))
`;

describe('a script as the target', () => {
  test('answers on standard output or in a file, in a sandbox, with separate evidence for each attempt', async () => {
    const place = new Place();
    const script = place.file('agent.py', AGENT, 0o755);
    const ids = ['hello', 'file', 'curious', 'crash', 'garbage'];
    const { artifact, folder, run } = await ranSuite(ids, { script, cwd: place.cwd, concurrency: 3 });
    expect(artifact('hello').final_output?.content).toBe('WHAT ABOUT HELLO?');
    expect(artifact('file').final_output?.content).toBe('WHAT ABOUT FILE?');
    expect(artifact('curious').final_output?.content).toBe('no network');
    expect(artifact('crash').runner_failure).toMatchObject({ class: 'schema_mismatch' });
    expect(artifact('garbage').runner_failure).toMatchObject({ class: 'invalid_json', body_snippet: 'hello\n' });
    expect(run.base_url).toBe('script:agent.py');
    await expectValid(folder);
    const runs = path.join(place.cwd, '.proctor', 'attempts', 'runs', 'script');
    const named = ids.map(id => artifact(id).attempts?.[0]?.run_id);
    expect(new Set(named)).toEqual(new Set(readdirSync(runs)));
    for (const id of readdirSync(runs)) await expectValid(path.join(runs, id));
    place.remove();
  });

  test('that does not end is killed, and its evidence says so', async () => {
    const place = new Place();
    const script = place.file('agent.py', AGENT, 0o755);
    const { artifact, folder } = await ranSuite(['hang'], { script, cwd: place.cwd, timeoutMs: 1_000 });
    expect(artifact('hang').runner_failure).toMatchObject({ class: 'timeout' });
    await expectValid(folder);
    const runs = path.join(place.cwd, '.proctor', 'attempts', 'runs', 'script');
    const endings = readdirSync(runs).map(id => {
      const outcome = readFileSync(path.join(runs, id, 'evidence', 'outcome.json'), 'utf8');
      return (JSON.parse(outcome) as { ending: object }).ending;
    });
    expect(endings.length).toBeGreaterThan(0);
    for (const ending of endings) expect(ending).toMatchObject({ how: 'killed', by: 'timeout' });
    place.remove();
  });

  test('that is lost during a probe stops the run, and no case waits forever', async () => {
    const place = new Place();
    const script = place.file('agent.py', AGENT, 0o755);
    const cases = ['a', 'b', 'c', 'd'].map(id => ({ id, input: { user: 'hang' } }));
    const run = ranSuite(cases, {
      script,
      cwd: place.cwd,
      timeoutMs: 1_000,
      concurrency: 2,
      breakerFailures: 1,
      onProgress: () => rmSync(script, { force: true }),
    });
    await expect(run).rejects.toThrow(/script/i);
    place.remove();
  });

  test('that is missing is refused before anything is created', async () => {
    const place = new Place();
    await expect(ranSuite(['a'], { script: 'missing.py', cwd: place.cwd })).rejects.toThrow(/script/i);
    expect(readdirSync(place.cwd)).toEqual(['cases.json']);
    place.remove();
  });
});

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { runSuite, type RunSuiteOptions, type SuiteRunResult } from '../../../src/verbs/run-suite.ts';
import type { WorkerOptions } from '../../../src/verbs/worker.ts';
import { temporaryFolder } from '../../support/support.ts';
import { startWorker } from './queue-world.ts';

/** Answers with its question in capitals. The id of the case makes it crash, hang or talk. */
const SCRIPT = `
import json, os, sys, time
question = json.load(open("input/case.json"))
case = question["case_id"]
if case == "crash": sys.exit(3)
if case == "hang": time.sleep(60)
if case == "garbage":
    print("hello")
    sys.exit(0)
said = os.environ.get("SECRET_WORD", "") + question["input"]["user"].upper()
reply = {"case_id": case, "version": question["version"], "final_output": {"content_type": "text", "content": said}}
if case == "file":
    os.makedirs("output", exist_ok=True)
    json.dump(reply, open("output/reply.json", "w"))
else:
    print(json.dumps(reply))
`;

/** A project with a script and its cases, a queue in memory, and a store. */
export function scriptWorld(ids: readonly string[], { script = SCRIPT, heartbeatMs = 30_000 } = {}) {
  const queue = new MemoryQueue({ heartbeatMs });
  const cwd = temporaryFolder();
  const store = temporaryFolder();
  writeFileSync(path.join(cwd, 'agent.py'), script, { mode: 0o755 });
  writeFileSync(
    path.join(cwd, 'cases.jsonl'),
    ids.map(id => `${JSON.stringify({ id, input: { user: `about ${id}` } })}\n`).join(''),
  );
  const sha256 = createHash('sha256').update(script).digest('hex');
  const base = { cases: 'cases.jsonl', as: 'new', script: 'agent.py', cwd, runId: 'r1', backoffMs: 1 } as const;
  const queued = { ...base, queue, store } as const;
  const artifactIn = (folder: string) => (id: string) =>
    JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact;
  const folder = path.join(cwd, '.proctor', 'runs', 'new', 'r1');
  const attempts = path.join(cwd, '.proctor', 'attempts', 'runs', 'script');
  return {
    ids,
    cwd,
    store,
    queue,
    sha256,
    folder,
    attempts,
    artifact: artifactIn(folder),
    sentRuns: () => readdirSync(attempts).map(id => path.join(attempts, id)),
    run: (over: Partial<RunSuiteOptions> = {}): Promise<SuiteRunResult> => runSuite({ ...queued, ...over }),
    /** The same suite in one process, in a folder of its own. */
    async alone(over: Partial<RunSuiteOptions> = {}) {
      const out = temporaryFolder();
      const result = await runSuite({ ...base, out, ...over });
      return { result, artifact: artifactIn(path.join(out, 'new', 'r1')) };
    },
    worker: (over: Partial<WorkerOptions> = {}) =>
      startWorker({ queue, store, slots: 2, allowScripts: [sha256], ...over }),
  };
}

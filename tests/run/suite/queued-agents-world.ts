import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { runSuite, type RunSuiteOptions, type SuiteRunResult } from '../../../src/verbs/run-suite.ts';
import type { WorkerOptions } from '../../../src/verbs/worker.ts';
import { repositoryFolder } from '../../../stand-ins/place.ts';
import { temporaryFolder } from '../../support/support.ts';
import { environment } from './agent-world.ts';
import { startWorker } from './queue-world.ts';

/** The environment of a conductor: it has the agent, and no key for its model. */
const keyless = { PATH: environment.PATH };

/** A repository, cases for an agent, a queue in memory, and a store. */
export function agentSuite(cases: readonly object[], { heartbeatMs = 30_000 } = {}) {
  const queue = new MemoryQueue({ heartbeatMs });
  const cwd = temporaryFolder();
  const store = temporaryFolder();
  const dir = repositoryFolder();
  writeFileSync(path.join(cwd, 'cases.jsonl'), cases.map(one => `${JSON.stringify(one)}\n`).join(''));
  const base = { cases: 'cases.jsonl', as: 'new', agent: 'claude', dir, cwd, runId: 'r1', backoffMs: 1 } as const;
  const artifactIn = (folder: string) => (id: string) =>
    JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact;
  const folder = path.join(cwd, '.proctor', 'runs', 'new', 'r1');
  const attempts = path.join(cwd, '.proctor', 'attempts', 'runs', 'agent');
  return {
    cwd,
    store,
    queue,
    dir,
    folder,
    attempts,
    artifact: artifactIn(folder),
    sentRuns: () => readdirSync(attempts).map(id => path.join(attempts, id)),
    run: (over: Partial<RunSuiteOptions> = {}): Promise<SuiteRunResult> =>
      runSuite({ ...base, environment: keyless, queue, store, ...over }),
    /** The same suite in one process, in a folder of its own. */
    async alone(over: Partial<RunSuiteOptions> = {}) {
      const out = temporaryFolder();
      const result = await runSuite({ ...base, environment, out, ...over });
      return { result, artifact: artifactIn(path.join(out, 'new', 'r1')) };
    },
    worker: (over: Partial<WorkerOptions> = {}) =>
      startWorker({ queue, store, slots: 2, allowAgents: ['claude', 'codex'], environment, ...over }),
  };
}

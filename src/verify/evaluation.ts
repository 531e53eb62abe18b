import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import type { AgentEvaluation } from '../contracts/agent-evaluation/index.ts';
import type { AgentOutcome } from '../contracts/agent-step/index.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import { type RepairSums, repairsOf, sumOfRepairs } from '../contracts/artifacts/repairs.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import { limitsIn } from '../contracts/gate/limits/index.ts';
import { repetitionId, type SuiteRequest } from '../contracts/suite/index.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { Inspector, Surroundings } from './inspector.ts';

/** The parts of an evaluation that are compared with its run. */
interface Judged {
  readonly file: string;
  readonly value: Pick<Evaluation, keyof typeof HASHED | 'run_id' | 'version' | 'gate' | 'repairs'> | AgentEvaluation;
}

/** FD10: compares an evaluation with the seal, the cases and the run in its folder. */
export function evaluationInspector(surroundings: Surroundings): Inspector {
  const evaluations: Judged[] = [];
  const known: Known = { runs: new Map(), requests: new Map(), agents: new Map(), repairs: new Map() };
  return {
    take({ file, contract, value }) {
      if (contract.name === 'run' && path.posix.basename(file) === 'run.json') {
        const { run_id, version } = value as RunArtifact;
        known.runs.set(path.posix.dirname(file), { run_id, version });
      }
      if (contract.name === 'case') {
        const folder = path.posix.dirname(file);
        const sums = sumOfRepairs([known.repairs.get(folder), repairsOf(value)]);
        if (sums) known.repairs.set(folder, sums);
      }
      if (contract.name === 'suite-request') {
        const { gate, repetition } = value as SuiteRequest;
        known.requests.set(folderOf(file), { gate, repetition });
      }
      if (contract.name === 'agent-outcome') {
        const { run_id, events } = value as AgentOutcome;
        known.agents.set(folderOf(file), { run_id, events });
      }
      if (contract.name === 'agent-evaluation') evaluations.push({ file, value: value as AgentEvaluation });
      if (contract.name !== 'evaluation') return;
      // Without the cases: there may be 100,000.
      const { run_id, version, seal_sha256, cases_sha256, gate, repairs } = value as Evaluation;
      const limits = gate && {
        ...limitsIn(gate),
        ...(gate.earlier && { earlier: { ...gate.earlier, cases: [] } }),
        checks: [],
      };
      evaluations.push({
        file,
        value: {
          run_id,
          version,
          seal_sha256,
          cases_sha256,
          ...(limits && { gate: limits }),
          ...(repairs && { repairs }),
        },
      });
    },

    end() {
      for (const judged of evaluations) {
        const { file } = judged;
        const breaks = (at: string, message: string): void =>
          surroundings.report({ rule: FOLDER_RULES.FD10.id, level: 'must', file, at, message });
        if (path.posix.basename(file) !== 'evaluation.json')
          breaks('schema_version', 'says that this is an evaluation, which must be in evaluation.json');
        else for (const [at, message] of doubts(judged, known, surroundings)) breaks(at, message);
      }
    },
  };
}

/** The documents that evaluations are compared with, by run folder. */
interface Known {
  readonly runs: Map<string, Pick<RunArtifact, 'run_id' | 'version'>>;
  readonly requests: Map<string, Asked>;
  readonly agents: Map<string, Pick<AgentOutcome, 'run_id' | 'events'>>;
  /** The sums over the cases of a run. */
  readonly repairs: Map<string, RepairSums>;
}

type Doubt = readonly [at: string, message: string];

function* doubts(
  { file, value }: Judged,
  { runs, requests, agents, repairs }: Known,
  { tree, hashOf, troubled }: Surroundings,
): Generator<Doubt> {
  const folder = folderOf(file);
  const lies = (name: string): string => path.posix.join(folder, name);
  for (const [key, name] of Object.entries(HASHED)) {
    if (!(key in value)) continue;
    if (!tree.files.has(lies(name))) yield [key, `states the hash of ${name}, which does not exist`];
    else if (hashOf(lies(name)) !== value[key as 'seal_sha256']) yield [key, `is not the hash of ${name}`];
  }
  const isOfAgent = 'flags' in value;
  const run = isOfAgent ? agents.get(folder) : runs.get(folder);
  // An invalid run has its own verdict.
  if (!run && !troubled.has(lies(isOfAgent ? OUTCOME : 'run.json')))
    yield ['run_id', 'names a run that is not in the folder'];
  if (run && run.run_id !== value.run_id) yield ['run_id', 'differs from the run in the same folder'];
  if (run && 'version' in run && 'version' in value && run.version !== value.version)
    yield ['version', 'differs from the run in the same folder'];
  // An invalid case has its own verdict, and its repairs are not counted.
  const isCounted = ![...troubled].some(one => path.posix.dirname(one) === folder);
  if (run && !isOfAgent && isCounted && canonicalize(value.repairs ?? {}) !== canonicalize(repairs.get(folder) ?? {}))
    yield ['repairs', 'is not the sum over the cases in the folder'];
  const request = requests.get(folder);
  if (!isOfAgent && request) yield* limitDoubts(value.gate, request);
  if (!isOfAgent || !run || !('events' in run)) return;
  const beyond = value.flags.findIndex(({ seq }) => seq !== null && seq > run.events);
  if (beyond >= 0) yield [`flags[${beyond}].seq`, 'refers to a line that the transcript does not have'];
}

type Asked = Pick<SuiteRequest, 'gate' | 'repetition'>;

/** Compares the judged limits with those requested before the first case was sent. */
function* limitDoubts(
  judged: Evaluation['gate'],
  { gate, repetition: { of, number, total } }: Asked,
): Generator<Doubt> {
  if (!judged) {
    // The last repetition has no gate if an earlier one could not be judged.
    if (gate && total === 1) yield ['gate', 'is missing, although the request states limits'];
    return;
  }
  if (canonicalize(limitsIn(judged)) !== canonicalize(limitsIn(gate ?? {})))
    yield ['gate', 'differs from the limits in the request'];
  const before = Array.from({ length: number - 1 }, (_, index) => repetitionId(of, index + 1));
  if (number !== total || (judged.earlier?.run_ids ?? []).join('/') !== before.join('/'))
    yield ['gate', 'does not cover all repetitions of the suite'];
}

/** The files whose hashes an evaluation states. Evaluations of agents have no cases. */
const HASHED = { seal_sha256: 'evidence/seal.json', cases_sha256: 'assets/cases.ndjson' } as const;

const OUTCOME = 'evidence/outcome.json';

/** The run folder of an evaluation or an outcome. */
function folderOf(file: string): string {
  const folder = path.posix.dirname(file);
  return path.posix.basename(folder) === 'evidence' ? path.posix.dirname(folder) : folder;
}

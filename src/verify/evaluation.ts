import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import type { AgentEvaluation } from '../contracts/agent-evaluation/index.ts';
import type { AgentOutcome } from '../contracts/agent-step/index.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import { limitsIn } from '../contracts/gate/limits/index.ts';
import { repetitionId, type SuiteRequest } from '../contracts/suite/index.ts';
import { FD } from './folder-rules.ts';
import type { Inspector, Surroundings } from './inspector.ts';

/** An evaluation, as far as it is held against what it lies beside. */
interface Judged {
  readonly file: string;
  readonly value: Pick<Evaluation, keyof typeof HASHED | 'run_id' | 'version' | 'gate'> | AgentEvaluation;
}

/** FD10: an evaluation against the seal, the cases and the run that it lies beside. */
export function evaluationInspector({ tree, hashOf, troubled, report }: Surroundings): Inspector {
  const evaluations: Judged[] = [];
  const runs = new Map<string, Pick<RunArtifact, 'run_id' | 'version'>>();
  const requests = new Map<string, Asked>();
  const agents = new Map<string, Pick<AgentOutcome, 'run_id' | 'events'>>();

  function* doubts({ file, value }: Judged): Generator<readonly [at: string, message: string]> {
    const folder = folderOf(file);
    const lies = (name: string): string => path.posix.join(folder, name);
    for (const [key, name] of Object.entries(HASHED)) {
      if (!(key in value)) continue;
      if (!tree.files.has(lies(name))) yield [key, `names ${name}, which is not there`];
      else if (hashOf(lies(name)) !== value[key as 'seal_sha256']) yield [key, `is not the hash of ${name}`];
    }
    const isOfAgent = 'flags' in value;
    const run = isOfAgent ? agents.get(folder) : runs.get(folder);
    // A run that is broken has a verdict of its own.
    if (!run && !troubled.has(lies(isOfAgent ? OUTCOME : 'run.json')))
      yield ['run_id', 'names a run that is not there'];
    if (run && run.run_id !== value.run_id) yield ['run_id', 'is not that of the run it lies in'];
    if (run && 'version' in run && 'version' in value && run.version !== value.version)
      yield ['version', 'is not that of the run it lies in'];
    const request = requests.get(folder);
    if (!isOfAgent && request) yield* limitDoubts(value.gate, request);
    if (!isOfAgent || !run || !('events' in run)) return;
    const beyond = value.flags.findIndex(({ seq }) => seq !== null && seq > run.events);
    if (beyond >= 0) yield [`flags[${beyond}].seq`, 'is that of no line of the transcript'];
  }

  return {
    take({ file, contract, value }) {
      if (contract.name === 'run' && path.posix.basename(file) === 'run.json') {
        const { run_id, version } = value as RunArtifact;
        runs.set(path.posix.dirname(file), { run_id, version });
      }
      if (contract.name === 'suite-request') {
        const { gate, repetition } = value as SuiteRequest;
        requests.set(folderOf(file), { gate, repetition });
      }
      if (contract.name === 'agent-outcome') {
        const { run_id, events } = value as AgentOutcome;
        agents.set(folderOf(file), { run_id, events });
      }
      if (contract.name === 'agent-evaluation') evaluations.push({ file, value: value as AgentEvaluation });
      if (contract.name !== 'evaluation') return;
      // Without its cases, of which there may be a hundred thousand.
      const { run_id, version, seal_sha256, cases_sha256, gate } = value as Evaluation;
      const limits = gate && {
        ...limitsIn(gate),
        ...(gate.earlier && { earlier: { ...gate.earlier, cases: [] } }),
        checks: [],
      };
      evaluations.push({
        file,
        value: { run_id, version, seal_sha256, cases_sha256, ...(limits && { gate: limits }) },
      });
    },

    end() {
      for (const judged of evaluations) {
        const { file } = judged;
        const breaks = (at: string, message: string): void =>
          report({ rule: FD.FD10.id, level: 'must', file, at, message });
        if (path.posix.basename(file) !== 'evaluation.json')
          breaks('schema_version', 'is that of an evaluation, which lies in evaluation.json');
        else for (const [at, message] of doubts(judged)) breaks(at, message);
      }
    },
  };
}

type Asked = Pick<SuiteRequest, 'gate' | 'repetition'>;

/** The limits that were judged against those that were asked for before the first case was sent. */
function* limitDoubts(
  judged: Evaluation['gate'],
  { gate, repetition: { of, number, total } }: Asked,
): Generator<readonly [at: string, message: string]> {
  if (!judged) {
    // The last of several repetitions has none where an earlier one could not be judged.
    if (gate && total === 1) yield ['gate', 'is missing, and the request of the run asks for limits'];
    return;
  }
  if (canonicalize(limitsIn(judged)) !== canonicalize(limitsIn(gate ?? {})))
    yield ['gate', 'has other limits than the request of the run'];
  const before = Array.from({ length: number - 1 }, (_, index) => repetitionId(of, index + 1));
  if (number !== total || (judged.earlier?.run_ids ?? []).join('/') !== before.join('/'))
    yield ['gate', 'is not over all repetitions of the suite'];
}

/** What an evaluation states the hash of; one of an agent has no cases. */
const HASHED = { seal_sha256: 'evidence/seal.json', cases_sha256: 'assets/cases.ndjson' } as const;

const OUTCOME = 'evidence/outcome.json';

/** The folder of the run that an evaluation or an outcome tells of. */
function folderOf(file: string): string {
  const folder = path.posix.dirname(file);
  return path.posix.basename(folder) === 'evidence' ? path.posix.dirname(folder) : folder;
}

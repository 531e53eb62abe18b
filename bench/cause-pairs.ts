/** Pairs of answers to one case. The second answer fails for a known, planted cause. */
import { agentRunExample } from '../src/contracts/artifacts/index.ts';
import type { CaseArtifact } from '../src/contracts/artifacts/index.ts';
import type { Divergence } from '../src/contracts/comparison/index.ts';
import type { Scene } from '../src/judge/causes/root-cause.ts';
import {
  happens,
  integer,
  one,
  play,
  type Script,
  script,
  type Scripted,
  type ScriptedCall,
  sentence,
} from './cause-scripts.ts';
import { type Chance, chanceFrom } from './gate-suites.ts';
import {
  changeArguments,
  changeChoice,
  changeDuplicate,
  changeOrder,
  changeResult,
  changeRetrieval,
  changeRetry,
  changeTogether,
  type Planted,
} from './cause-plants.ts';

export type Cause = Exclude<Divergence['kind'], 'runner' | 'checks'>;

type Plant = (base: Script, chance: Chance) => Planted;

const decided: readonly Plant[] = [changeChoice, changeArguments, changeOrder, changeOutput];

const PLANTS: Readonly<Record<Cause, Plant>> = {
  tool_choice: changeChoice,
  tool_arguments: changeArguments,
  tool_result: changeResult,
  retrieval: changeRetrieval,
  tool_order: changeOrder,
  tool_concurrency: changeTogether,
  tool_duplicate: changeDuplicate,
  tool_retry: changeRetry,
  output: changeOutput,
  environment: changeEnvironment,
  model: (base, chance) => ({
    ...one(chance, decided)(base, chance),
    drift: [happens(chance, 0.7) ? 'provenance.model' : 'provenance.parameters.temperature'],
  }),
  policy: changePolicy,
  input: (base, chance) =>
    happens(chance, 0.4)
      ? { script: base, failing: ['contains', MISSING], isOtherCase: true }
      : { ...one(chance, decided)(base, chance), isOtherCase: true },
};

export const CAUSES = Object.keys(PLANTS) as readonly Cause[];

/** Equal seeds give equal pairs. */
export function* pairsWith(cause: Cause, count: number, seed: number): Generator<Scene> {
  const chance = chanceFrom(seed * 1_009 + CAUSES.indexOf(cause) * 104_729);
  for (let index = 0; index < count; index++) yield pair(cause, chance);
}

const MISSING = 'The output does not contain the text that was asked for.';

function pair(cause: Cause, chance: Chance): Scene {
  const base = script(chance);
  const planted = PLANTS[cause](base, chance);
  const baseline = play(withNoise(base, chance), 'baseline', chance);
  const candidate = { ...play(withNoise(planted.script, chance), 'new', chance), ...planted.over };
  const [name, message] = planted.failing;
  const hash = `sha256:${'a'.repeat(64)}` as const;
  const metrics = { latency_ms: 100, attempts: 1, cost_usd: null, tokens: null, steps: 0, score: null };
  const known = { case_id: 'c', error_class: null, output_hash: null, metrics };
  return {
    judged: {
      baseline: { ...known, case_sha256: hash, verdict: 'pass', assertions: [] },
      candidate: {
        ...known,
        case_sha256: planted.isOtherCase ? `sha256:${'b'.repeat(64)}` : hash,
        verdict: 'fail',
        assertions: [{ name, status: 'fail', message, at: name === 'contains' ? 'final_output.content' : null }],
      },
    },
    artifacts: { baseline: { ...baseline, ...planted.overBaseline }, candidate },
    drift: driftOf(cause, planted, chance),
    change: 'regressed',
  };
}

/** Adds differences that are not the cause, as between any two releases. */
function driftOf(cause: Cause, { drift = [] }: Planted, chance: Chance): Scene['drift'] {
  const isMet = cause === 'tool_result';
  const noise = [
    ...(happens(chance, 0.1) && cause !== 'environment' ? ['environment_hash'] : []),
    ...(happens(chance, 0.1) ? ['settings.retries'] : []),
    ...(happens(chance, 0.3) ? ['provenance.commit'] : []),
    ...(isMet && happens(chance, 0.15) ? ['provenance.model'] : []),
  ];
  return [...new Set([...drift, ...noise])].sort().map(field => ({ field, baseline: 'one', new: 'other' }));
}

/** Adds differences that have no effect on the outcome. */
function withNoise(base: Script, chance: Chance): Script {
  let noisy = base;
  if (happens(chance, 0.08)) noisy = withExtra(noisy, chance);
  if (happens(chance, 0.04)) noisy = changeRetry(noisy, chance).script;
  if (happens(chance, 0.04)) noisy = changeTogether(noisy, chance).script;
  if (happens(chance, 0.04)) noisy = { ...noisy, steps: noisy.steps.map(withOtherRanks) };
  return { ...noisy, output: base.output };
}

function withOtherRanks(step: Scripted): Scripted {
  return step.kind === 'retrieval' ? { ...step, docs: [...step.docs].reverse() } : step;
}

/** Adds a harmless call. */
function withExtra(base: Script, chance: Chance): Script {
  const tool = one(chance, ['log.write', 'memory.save', 'clock.now']);
  const reply = one(chance, ['ok', 'saved 3 entries', `line ${integer(chance, 1_000)} written`, 'true']);
  const extra: ScriptedCall = { kind: 'call', tool, args: {}, reply, status: 'ok', group: -1 };
  const steps: Scripted[] = [...base.steps];
  steps.splice(integer(chance, steps.length + 1), 0, extra);
  return { ...base, steps };
}

function changeOutput(base: Script, chance: Chance): Planted {
  const name = one(chance, ['contains', 'must_include', 'equals', 'regex', 'script'] as const);
  return { script: { ...base, output: sentence(chance) }, failing: [name, MISSING] };
}

/** The same steps in a slower or different environment, or a tool that fails there. */
function changeEnvironment(base: Script, chance: Chance): Planted {
  const drift = ['environment_hash'];
  if (happens(chance, 0.2)) {
    const { script: broken, failing } = broke(base, chance, 'connect ECONNREFUSED');
    return { script: broken, failing, drift };
  }
  const isSlow = happens(chance, 0.6);
  const output = happens(chance, 0.3) ? sentence(chance) : base.output;
  const failing = isSlow
    ? (['max_latency_ms', 'It took too long.'] as const)
    : (['script', 'The check failed.'] as const);
  return { script: { ...base, output }, failing, drift };
}

/** A blocked run, a blocked tool, or a tighter limit. */
function changePolicy(base: Script, chance: Chance): Planted {
  const drift = [one(chance, ['policy.network', 'policy.sandbox.backend', 'policy.limits.timeout_ms'])];
  const place = chance();
  if (place < 0.35) {
    const block = { class: 'native_policy_block', operation: 'Write', hard: false } as const;
    return {
      script: { ...base, output: happens(chance, 0.5) ? sentence(chance) : base.output },
      failing: ['no_violations', 'There is a violation.'],
      drift: happens(chance, 0.5) ? drift : [],
      overBaseline: agentRun([]),
      over: agentRun([block]),
    };
  }
  if (place < 0.7) {
    const words = [
      'Permission denied',
      'blocked by policy',
      '403 forbidden',
      'EACCES: not permitted',
      'request failed',
    ];
    return { ...broke(base, chance, one(chance, words)), drift };
  }
  return { script: base, failing: ['max_latency_ms', 'It took too long.'], drift };
}

type Violations = NonNullable<CaseArtifact['agent_run']>['violations'];

function agentRun(listed: Violations['listed']): Partial<CaseArtifact> {
  return { agent_run: { ...agentRunExample, flags: [], violations: { total: listed.length, listed } } };
}

/** A tool that used to work fails, and the output shows it. */
function broke(base: Script, chance: Chance, reply: string): Pick<Planted, 'script' | 'failing'> {
  const calls = [...base.steps.keys()].filter(index => base.steps[index]?.kind === 'call');
  const at = one(chance, calls);
  const steps = base.steps.map((step, index) =>
    index === at && step.kind === 'call' ? { ...step, reply, status: 'error' as const } : step,
  );
  return { script: { ...base, steps, output: sentence(chance) }, failing: ['contains', MISSING] };
}

/** Changes to an agent's steps or inputs, with their consequences. */
import type { CaseArtifact } from '../src/contracts/artifacts/index.ts';
import type { JudgedCase } from '../src/judge/compare-input.ts';
import {
  call,
  facts,
  happens,
  integer,
  one,
  type Script,
  type Scripted,
  type ScriptedCall,
  sentence,
  uuid,
} from './cause-scripts.ts';
import type { Chance } from './gate-suites.ts';

type ExpectationName = JudgedCase['assertions'][number]['name'];

export interface Planted {
  readonly script: Script;
  readonly failing: readonly [name: ExpectationName, message: string];
  /** Fields that differ because of the cause. */
  readonly drift?: readonly string[];
  readonly isOtherCase?: boolean;
  readonly over?: Partial<CaseArtifact>;
  readonly overBaseline?: Partial<CaseArtifact>;
}

const MISSING = ['contains', 'The output does not contain the text that was asked for.'] as const;

/** Replaces, removes or adds a tool call. */
export function changeChoice(base: Script, chance: Chance): Planted {
  const at = anyCall(base, chance);
  const was = base.steps[at] as ScriptedCall;
  const fresh: ScriptedCall = {
    ...call(chance, was.group),
    tool: one(chance, ['crm.lookup', 'web.search', 'notes.read']),
  };
  const place = chance();
  if (place < 0.5) {
    const isElsewhere = base.steps.some(
      (step, index) => index !== at && step.kind === 'call' && step.tool === was.tool,
    );
    const failing =
      !isElsewhere && happens(chance, 0.5)
        ? (['tool_required', `The tool "${was.tool}" was not called.`] as const)
        : MISSING;
    return { script: follow(base, chance, at, [fresh]), failing };
  }
  if (place < 0.75) return { script: follow(base, chance, at, []), failing: MISSING };
  const failing = happens(chance, 0.5)
    ? (['tool_forbidden', `The tool "${fresh.tool}" was called.`] as const)
    : MISSING;
  return { script: follow(base, chance, at, [was, { ...fresh, group: 1_000 }]), failing };
}

/** Changes the arguments of a call. Its result sometimes stays the same. */
export function changeArguments(base: Script, chance: Chance): Planted {
  const at = anyCall(base, chance);
  const was = base.steps[at] as ScriptedCall;
  const key = one(chance, Object.keys(was.args));
  const value = happens(chance, 0.15) ? uuid(chance) : `K-${10_000 + integer(chance, 10_000)}`;
  const reply = happens(chance, 0.8) ? facts(chance) : was.reply;
  if (happens(chance, 0.2)) return withBranch(base, chance, at, { ...was, args: { ...was.args, [key]: value }, reply });
  return {
    script: follow(base, chance, at, [{ ...was, args: { ...was.args, [key]: value }, reply }]),
    failing: MISSING,
  };
}

/** Changes the result of a call to other facts or to an error, which may repeat. */
export function changeResult(base: Script, chance: Chance): Planted {
  const at = anyCall(base, chance);
  const was = base.steps[at] as ScriptedCall;
  if (happens(chance, 0.2)) return withBranch(base, chance, at, { ...was, reply: facts(chance) });
  if (happens(chance, 0.5)) {
    return { script: follow(base, chance, at, [{ ...was, reply: facts(chance) }]), failing: MISSING };
  }
  const failed: ScriptedCall = { ...was, reply: 'upstream is down', status: 'error' };
  const isTwice = happens(chance, 0.3);
  return {
    script: follow(base, chance, at, isTwice ? [failed, { ...failed, group: 1_000 }] : [failed]),
    failing: MISSING,
  };
}

/** Removes or replaces a retrieved document. The query may change too. */
export function changeRetrieval(base: Script, chance: Chance): Planted {
  const at = base.steps.findIndex(({ kind }) => kind === 'retrieval');
  const was = base.steps[at];
  if (was?.kind !== 'retrieval') return { script: base, failing: MISSING };
  const docs = happens(chance, 0.6) ? was.docs.slice(1) : [...was.docs.slice(1), `doc-${1_000 + integer(chance, 100)}`];
  const query = happens(chance, 0.3) ? `${was.query} today` : was.query;
  const failing = happens(chance, 0.4) ? (['retrieval_required', 'A document was not retrieved.'] as const) : MISSING;
  return { script: follow(base, chance, at, [{ ...was, query, docs }]), failing };
}

/** Swaps two sequential calls. Their results may change. */
export function changeOrder(base: Script, chance: Chance): Planted {
  const calls = [...base.steps.entries()].filter(([, step]) => step.kind === 'call') as [number, ScriptedCall][];
  const [second, other] = calls.at(-1) as [number, ScriptedCall];
  const [first, was] = one(
    chance,
    calls.filter(([, { group }]) => group !== other.group),
  );
  const isFelt = happens(chance, 0.3);
  const swapped = base.steps.map((step, index): Scripted => {
    if (index === first) return { ...other, group: was.group + 2_000, reply: isFelt ? facts(chance) : other.reply };
    if (index === second) return { ...was, group: other.group + 2_000 };
    return step;
  });
  const failing = happens(chance, 0.4)
    ? (['tool_sequence', `The tool "${other.tool}" was not called after "${was.tool}".`] as const)
    : MISSING;
  return { script: { ...base, steps: swapped, output: sentence(chance) }, failing };
}

/** Makes the last two calls run concurrently. */
export function changeTogether(base: Script, chance: Chance): Planted {
  const output = happens(chance, 0.7) ? sentence(chance) : base.output;
  const calls = [...base.steps.entries()].filter(([, step]) => step.kind === 'call') as [number, ScriptedCall][];
  const [last, previous] = [calls.at(-1), calls.at(-2)] as [[number, ScriptedCall], [number, ScriptedCall]];
  const steps = base.steps.map((step, index) => (index === last[0] ? { ...last[1], group: previous[1].group } : step));
  return { script: { ...base, steps, output }, failing: ['max_latency_ms', 'It took too long.'] };
}

/** Repeats a successful call. */
export function changeDuplicate(base: Script, chance: Chance): Planted {
  const at = anyCall(base, chance);
  const was = base.steps[at] as ScriptedCall;
  const steps = [...base.steps];
  steps.splice(happens(chance, 0.6) ? endOf(base, at) : steps.length, 0, { ...was, group: 1_000 });
  const failing = happens(chance, 0.5) ? (['max_steps', 'There are too many steps.'] as const) : MISSING;
  return { script: { ...base, steps, output: sentence(chance) }, failing };
}

/** Makes a call fail once and succeed on retry. The output still changes. */
export function changeRetry(base: Script, chance: Chance): Planted {
  const at = anyCall(base, chance);
  const was = base.steps[at] as ScriptedCall;
  const steps: Scripted[] = base.steps.map((step, index) =>
    index === at ? { ...was, reply: 'try again later', status: 'error' } : step,
  );
  steps.splice(endOf(base, at), 0, { ...was, group: 1_000 });
  const failing = happens(chance, 0.5) ? (['max_steps', 'There are too many steps.'] as const) : MISSING;
  return { script: { ...base, steps, output: sentence(chance) }, failing };
}

/** Replaces one call, which leads to another tool later. The later tool fails the expectation. */
function withBranch(base: Script, chance: Chance, at: number, instead: ScriptedCall): Planted {
  const last = base.steps.findLastIndex(({ kind }) => kind === 'call');
  const { tool, group } = base.steps[last] as ScriptedCall;
  const fresh: ScriptedCall = { ...call(chance, group), tool: 'tickets.open' };
  const steps = base.steps.map((step, index) => (index === at ? instead : index === last ? fresh : step));
  const script = {
    ...base,
    steps: at === last ? [...steps, { ...fresh, group: 1_000 }] : steps,
    output: sentence(chance),
  };
  const isGone = !script.steps.some(step => step.kind === 'call' && step.tool === tool);
  const failing = isGone
    ? (['tool_required', `The tool "${tool}" was not called.`] as const)
    : (['tool_forbidden', 'The tool "tickets.open" was called.'] as const);
  return { script, failing };
}

function anyCall({ steps }: Script, chance: Chance): number {
  return one(
    chance,
    [...steps.keys()].filter(index => steps[index]?.kind === 'call'),
  );
}

/** Returns the index after the last call of the same group. */
function endOf({ steps }: Script, at: number): number {
  const { group } = steps[at] as ScriptedCall;
  let end = at + 1;
  for (let next = steps[end]; next?.kind === 'call' && next.group === group; next = steps[end]) end++;
  return end;
}

/** Returns a call whose arguments depend on earlier results. */
function led(step: ScriptedCall, chance: Chance): ScriptedCall {
  return { ...step, args: { ...step.args, from: facts(chance) }, reply: facts(chance) };
}

/** Replaces one step. The output changes, and sometimes later calls do too. */
function follow(base: Script, chance: Chance, at: number, instead: readonly Scripted[]): Script {
  const { group } = base.steps[at] as ScriptedCall;
  const later = base.steps
    .slice(at + 1)
    .map(step => (step.kind === 'call' && step.group !== group && happens(chance, 0.15) ? led(step, chance) : step));
  // Keeps the calls of one group together; added steps come after the group.
  const steps = [...base.steps.slice(0, at), ...instead.slice(0, 1), ...later];
  const added = instead.slice(1);
  if (added.length > 0) steps.splice(endOf({ ...base, steps }, at), 0, ...added);
  return { ...base, steps, output: sentence(chance) };
}

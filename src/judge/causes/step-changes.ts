import { type Names, WEIGHT } from './difference.ts';
import { differingKeys, quoted, quotedList } from './quoted.ts';
import { DID, KIND, place, type UnorderedDifference, toolOf, toolsIn } from './step-words.ts';
import { type Call, isOtherReply, lasting, type Retrieval, type Step } from '../../contracts/artifacts/steps.ts';

/** How the results of two equal requests differ; undefined if they do not. `idle` holds the keys from `idleKeys`. */
export function otherOutcome(
  was: Step,
  is: Step,
  idle: ReadonlySet<string>,
  names: Names,
): UnorderedDifference | undefined {
  if (was.kind === 'call' && is.kind === 'call') return otherReply(was, is, idle, names);
  if (was.kind === 'retrieval' && is.kind === 'retrieval') {
    const isSame = was.docs.join('\n') === is.docs.join('\n') && was.snippets === is.snippets;
    return isSame && was.query === is.query ? undefined : changedStep(was, is, names);
  }
  if (was.kind === 'final_output' && is.kind === 'final_output' && was.content !== is.content) {
    return changedStep(was, is, names);
  }
  return undefined;
}

/** Arguments with an id or time that differs between calls with equal results, so it has no effect. */
export function idleKeys(pairs: readonly (readonly [Step, Step])[]): ReadonlySet<string> {
  return new Set(
    pairs.flatMap(([was, is]) => {
      if (was.kind !== 'call' || is.kind !== 'call' || was.asks === is.asks || !was.reply) return [];
      return isOtherReply(was.reply, is.reply) ? [] : differingKeys(was.args, is.args);
    }),
  );
}

function otherReply(was: Call, is: Call, idle: ReadonlySet<string>, names: Names): UnorderedDifference | undefined {
  const isAsked = was.asks === is.asks || differingKeys(was.args, is.args).every(key => idle.has(key));
  // Steps are matched without ids and times, but a difference in these may still matter.
  if (!isAsked) return changedStep(was, is, names);
  const tools = [is.tool];
  const tool = toolOf(is);
  if (!was.reply || !is.reply) {
    if (was.reply === is.reply) return undefined;
    const places = { baselineAt: place(was.reply?.at ?? was.at), newAt: place(is.reply?.at ?? is.at) };
    const has = is.reply ? 'received a result' : 'received no result';
    return {
      ...places,
      kind: 'tool_result',
      says: `${names.is} ${has} from ${tool}`,
      weight: WEIGHT.otherwise,
      tools,
      isMet: true,
    };
  }
  const places = { baselineAt: place(was.reply.at), newAt: place(is.reply.at) };
  const met = { ...places, kind: 'tool_result', weight: WEIGHT.otherwise, tools, isMet: true } as const;
  if (was.reply.status !== is.reply.status) {
    const says = `The result of ${tool} was ${is.reply.status} instead of ${was.reply.status}`;
    return is.reply.status === 'error'
      ? { ...met, says, plainly: TOOL_BROKE, refusal: is.reply.payload }
      : { ...met, says };
  }
  if (isOtherReply(was.reply, is.reply))
    return { ...met, says: `${tool} received the same request but returned a different result` };
  if (was.attempts !== is.attempts) return otherAttempts(was, is, names);
  if (was.asks !== is.asks) return changedStep(was, is, names);
  if (was.reply.payload === is.reply.payload) return undefined;
  return { ...met, says: `The result of ${tool} has different ids or times`, weight: WEIGHT.passing, atMost: 'low' };
}

const TOOL_BROKE = 'Very likely the cause, because a tool that worked in the baseline failed.';

/** A call that was retried after an error and then had the same result as on the other side. */
function otherAttempts(was: Call, is: Call, names: Names): UnorderedDifference {
  const common = { kind: 'tool_retry', weight: WEIGHT.manner, atMost: 'low', tools: [is.tool], isMet: true } as const;
  return is.attempts > was.attempts
    ? {
        ...common,
        baselineAt: place(was.at),
        newAt: place(is.lastAt),
        says: `${names.is} called ${toolOf(is)} again after an error`,
      }
    : {
        ...common,
        baselineAt: place(was.lastAt),
        newAt: place(is.at),
        says: `${names.is} did not have to retry ${toolOf(is)}, which failed in ${names.was}`,
      };
}

/** Two steps of one kind, or calls to one tool, with different requests. */
export function changedStep(was: Step, is: Step, names: Names): UnorderedDifference {
  const places = { baselineAt: place(was.at), newAt: place(is.at) };
  if (was.kind === 'call' && is.kind === 'call') {
    const isPassing = lasting(was.asks) === lasting(is.asks);
    const isFelt = isOtherReply(was.reply, is.reply);
    const keys = quotedList(differingKeys(was.args, is.args));
    const says = `${names.is} called ${quoted(is.tool)} with different arguments: ${keys}`;
    const told = { ...places, kind: 'tool_arguments', says, tools: [is.tool] } as const;
    if (isPassing)
      return isFelt ? { ...told, weight: WEIGHT.otherwise } : { ...told, weight: WEIGHT.passing, atMost: 'low' };
    return { ...told, weight: isFelt || !was.reply ? WEIGHT.otherwise : WEIGHT.somewhat };
  }
  if (was.kind === 'retrieval' && is.kind === 'retrieval') return { ...places, ...changedRetrieval(was, is) };
  if (was.kind === 'reply') {
    return {
      ...places,
      kind: 'tool_result',
      says: 'A tool returned a different result',
      weight: WEIGHT.otherwise,
      isMet: true,
    };
  }
  return {
    ...places,
    kind: 'output',
    says: 'After the same steps, the final output differs',
    weight: WEIGHT.otherwise,
  };
}

type Unplaced = Omit<UnorderedDifference, 'baselineAt' | 'newAt'>;

function changedRetrieval(was: Retrieval, is: Retrieval): Unplaced {
  const isSameQuery = was.query === is.query;
  const query = isSameQuery ? 'The same query' : 'A different query';
  const told = (says: string, weight: UnorderedDifference['weight']): Unplaced => ({
    kind: 'retrieval',
    says,
    weight,
    isMet: isSameQuery,
  });
  const found = new Set(is.docs);
  const lost = was.docs.filter(doc => !found.has(doc));
  if (lost.length > 0) return told(`${query} no longer found ${quotedList(lost)}`, WEIGHT.otherwise);
  const known = new Set(was.docs);
  const come = is.docs.filter(doc => !known.has(doc));
  if (come.length > 0) return told(`${query} also found ${quotedList(come)}`, WEIGHT.otherwise);
  if (was.docs.join('\n') !== is.docs.join('\n')) {
    return { ...told(`${query} found the same documents in a different order`, WEIGHT.passing), atMost: 'low' };
  }
  return isSameQuery
    ? told('The same documents have different snippets', WEIGHT.otherwise)
    : told('A different query found the same documents', WEIGHT.passing);
}

/** One step instead of another. */
export function replacedStep(was: Step, is: Step, names: Names): UnorderedDifference {
  const telling = was.kind === 'final_output' ? is : was;
  return {
    kind: KIND[telling.kind],
    baselineAt: place(was.at),
    newAt: place(is.at),
    says: `${names.is} ${DID[is.kind](is)} where ${names.was} ${DID[was.kind](was)}`,
    tools: toolsIn([was, is]),
    weight: WEIGHT.otherwise,
  };
}

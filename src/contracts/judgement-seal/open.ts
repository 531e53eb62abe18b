import {
  payloadContent,
  judgementEnvelopeShape,
  signedFaults,
  statementFaults,
  subjectFaults,
  type StatementFault,
  unknownIn,
} from '../seal/envelope.ts';
import type { SealEnvelope } from '../seal/index.ts';
import { formOf } from '../form.ts';
import { isObject } from '../kind.ts';
import { UNKNOWN_KEY } from '../rule.ts';
import { placeOf } from '../../base/place.ts';
import { type Foundation, type JudgementPredicate, judgementShape, type JudgementStatement } from './statement.ts';

export type OpenedJudgement =
  | { readonly ok: true; readonly statement: JudgementStatement; readonly envelope: SealEnvelope }
  | { readonly ok: false; readonly message: string };

/** Opens an untrusted envelope and checks its statement, but not its files. Never throws. */
export function openJudgement(envelope: unknown): OpenedJudgement {
  for (const trouble of formOf(judgementEnvelopeShape).faults(envelope, '')) return closed(trouble);
  for (const trouble of unknownKeys(envelope)) return closed(trouble);
  const content = payloadContent((envelope as SealEnvelope).payload);
  if (!content.ok) return closed({ path: 'payload', message: content.message });
  const statement = content.value as JudgementStatement;
  for (const troublesOf of [readFaults, fileFaults, foundationFaults]) {
    for (const trouble of troublesOf(statement)) return closed(trouble);
  }
  for (const trouble of signedFaults(statement, envelope as SealEnvelope)) return closed(trouble);
  return { ok: true, statement, envelope: envelope as SealEnvelope };
}

function closed({ path, message }: StatementFault): OpenedJudgement {
  return { ok: false, message: `${path === '' ? 'the seal' : path} ${message}` };
}

/** No signature covers the envelope itself, so it must not have unknown keys. */
export function* unknownKeys(envelope: unknown): Generator<StatementFault> {
  for (const { parent, key } of formOf(judgementEnvelopeShape).unknown(envelope, '')) {
    yield { path: placeOf(parent, key), message: UNKNOWN_KEY };
  }
}

/** Checks a statement except its list of files. */
export function* readFaults(statement: unknown): Generator<StatementFault> {
  yield* statementFaults(statement, judgementShape);
  yield* unknownIn(statement, judgementShape);
}

/** Checks the list of files: bare names, including the judgement itself. */
export function* fileFaults(statement: unknown): Generator<StatementFault> {
  yield* subjectFaults(statement, judgementShape);
  const { subject, kind } = partsOf(statement);
  const names = subject.flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
  const inner = names.findIndex(name => name.includes('/'));
  if (inner >= 0) yield { path: `payload.subject[${inner}].name`, message: 'must be the name of a file, not a path' };
  const main = kind === 'evaluation' || kind === 'comparison' ? `${kind}.json` : undefined;
  if (main !== undefined && !names.includes(main)) yield { path: 'payload.subject', message: `must list ${main}` };
  if (kind !== 'comparison' && subject.length !== 1) yield { path: 'payload.subject', message: 'must list one file' };
}

/** Checks the list of seals that a judgement rests on. */
export function* foundationFaults(statement: unknown): Generator<StatementFault> {
  const { kind, id, rests_on: restsOn } = partsOf(statement);
  const at = 'payload.predicate.rests_on';
  if (restsOn.length === 0) yield { path: at, message: 'must not be empty' };
  if (kind === 'baseline' ? id !== null : id === null) {
    yield { path: 'payload.predicate.id', message: kind === 'baseline' ? 'must be null' : 'must be a name' };
  }
  if (kind === 'evaluation' && (restsOn.length !== 1 || restsOn[0]?.what !== 'run' || restsOn[0].id !== id)) {
    yield { path: at, message: 'must list only the evaluated run' };
  }
  for (const [index, { what, side, id }] of restsOn.entries()) {
    if ((side !== undefined) !== (kind === 'comparison')) {
      yield {
        path: `${at}[${index}].side`,
        message: kind === 'comparison' ? 'is missing' : 'is allowed only in a comparison',
      };
    }
    if ((what === 'baseline') !== (id === null)) {
      yield { path: `${at}[${index}].id`, message: what === 'baseline' ? 'must be null' : 'must be a name' };
    }
    if (what === 'baseline' && (kind !== 'comparison' || side === 'new')) {
      yield { path: `${at}[${index}].what`, message: 'must not be baseline here' };
    }
  }
}

interface Parts extends Partial<Pick<JudgementPredicate, 'kind' | 'id'>> {
  readonly rests_on: readonly Partial<Foundation>[];
  readonly subject: readonly { readonly name?: unknown }[];
}

/** The readable parts of a statement of unknown shape. */
function partsOf(statement: unknown): Parts {
  const { predicate, subject } = objectOf(statement) as { predicate?: unknown; subject?: unknown };
  const { rests_on: restsOn, ...rest } = objectOf(predicate) as Partial<JudgementPredicate>;
  return {
    ...rest,
    rests_on: Array.isArray(restsOn) ? restsOn.map(objectOf) : [],
    subject: Array.isArray(subject) ? subject.map(objectOf) : [],
  };
}

function objectOf(value: unknown): object {
  return isObject(value) ? value : {};
}

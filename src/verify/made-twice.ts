import path from 'node:path';
import { publicKeyIn } from '../base/ed25519.ts';
import { bytesHash } from '../base/hash.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { type AttemptStatement, openAttempt } from '../contracts/attempt-outcome/index.ts';
import type { Contract } from '../contracts/contract.ts';
import {
  isChosenTwice,
  MADE_TWICE,
  type MadeTwice,
  madeTwice,
  type TwiceCase,
  type TwiceKind,
  twiceText,
} from '../contracts/made-twice/index.ts';
import { type SealEnvelope, signedBy } from '../contracts/seal/index.ts';
import { type SuiteCase, type SuiteReply, type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { soundDocument } from '../evidence/document.ts';
import {
  type ComparedAnswer,
  comparedAnswer,
  NO_ANSWER,
  type ReplyComparison,
  replyComparison,
} from '../targets/answer-proof.ts';
import { type Inspector, mustFinding, type Surroundings } from './inspector.ts';
import { WO } from './outcome-rules.ts';

interface Signed {
  readonly statement: AttemptStatement;
  readonly envelope: SealEnvelope;
  readonly place: string;
}

/** A run that states which attempts two workers made. */
interface TwiceFolder {
  readonly folder: string;
  readonly request: SuiteRequest | undefined;
  readonly document: MadeTwice | undefined;
  /** The outcomes that the document names, and all second ones. */
  readonly outcomes: Map<string, Signed>;
  readonly caseIds: string[];
  /** What the chosen cases state about their last attempt and answer. */
  readonly stated: Map<string, Stated>;
}

interface Stated extends ComparedAnswer {
  readonly outcome: string | undefined;
  readonly attempts: number;
}

/** WO8: checks the signatures of both workers, and compares their outcomes again. */
export function madeTwiceInspector(
  { bytesOf, hashOf, troubled, tree, report }: Surroundings,
  notes: string[],
): Inspector {
  const folders = new Map<string, TwiceFolder>();

  const documentIn = (folder: string, name: string, contract: Contract): unknown => {
    const file = path.posix.join(folder, name);
    const bytes = tree.files.has(file) ? bytesOf(file) : undefined;
    return bytes && soundDocument(bytes, contract);
  };

  const folderAt = (folder: string): TwiceFolder => {
    let known = folders.get(folder);
    if (known) return known;
    known = {
      folder,
      request: documentIn(folder, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined,
      document: documentIn(folder, MADE_TWICE, madeTwice) as MadeTwice | undefined,
      outcomes: new Map(),
      caseIds: [],
      stated: new Map(),
    };
    folders.set(folder, known);
    return known;
  };

  const has = (folder: string): boolean => tree.files.has(path.posix.join(folder, MADE_TWICE));

  return {
    take({ file, place, contract, value }) {
      const above = path.posix.dirname(path.posix.dirname(file));
      if (contract.name === 'made-twice') folderAt(above);
      if (contract.name === 'suite-request' && (value as SuiteRequest).twice) folderAt(above);
      if (contract.name === 'attempt-outcome') takeOutcome(() => folderAt(above), has(above), place, value);
      if (contract.name === 'suite-case' && has(above)) folderAt(above).caseIds.push((value as SuiteCase).id);
      const folder = path.posix.dirname(file);
      if (contract.name === 'case' && has(folder)) takeCase(folderAt(folder), value as CaseArtifact);
    },

    end() {
      for (const run of folders.values()) {
        const { folder, request, document } = run;
        if ([MADE_TWICE, 'evidence/request.json'].some(file => troubled.has(path.posix.join(folder, file)))) continue;
        for (const { file, at, message } of faultsOf(run, {
          bytesOf: href => bytesOf(path.posix.join(folder, href)),
          hashOf: href => hashOf(path.posix.join(folder, href)),
        }))
          report(mustFinding(WO.WO8.id, file, at, message));
        if (document && request) notes.push(`${twiceText(document, request.cases.count)}.`);
      }
    },
  };
}

/** Keeps an outcome if it is a second one, or if the document names it. */
function takeOutcome(folder: () => TwiceFolder, hasDocument: boolean, place: string, value: object): void {
  const opened = openAttempt(value);
  if (!opened) return;
  const isSecond = opened.statement.predicate.again !== undefined;
  if (!isSecond && !hasDocument) return;
  const { document, outcomes } = folder();
  const sha256 = bytesHash(JSON.stringify(value));
  if (isSecond || namesOutcome(document, sha256)) outcomes.set(sha256, { ...opened, place });
}

/** The outcomes that documents name, as sets, because a run has many outcomes. */
const NAMED = new WeakMap<MadeTwice, ReadonlySet<string>>();

function namesOutcome(document: MadeTwice | undefined, sha256: string): boolean {
  if (!document) return false;
  let named = NAMED.get(document);
  if (!named) {
    const sides = document.cases.flatMap(({ first, second }) => [first, second]);
    named = new Set(sides.flatMap(side => side?.outcome_sha256 ?? []));
    NAMED.set(document, named);
  }
  return named.has(sha256);
}

function takeCase({ request, stated }: TwiceFolder, artifact: CaseArtifact): void {
  const { case_id: id, attempts = [] } = artifact;
  if (!request?.twice || !isChosenTwice(request.twice, request.run_id, id)) return;
  const answer = artifact.status === 'ok' ? comparedAnswer(artifact) : NO_ANSWER;
  stated.set(id, { ...answer, outcome: attempts.at(-1)?.outcome_sha256, attempts: attempts.length });
}

interface Files {
  readonly bytesOf: (href: string) => Buffer | undefined;
  readonly hashOf: (href: string) => string | undefined;
}

interface TwiceFault {
  readonly file: string;
  readonly at: string;
  readonly message: string;
}

function* faultsOf(run: TwiceFolder, files: Files): Generator<TwiceFault> {
  const { folder, request, document, outcomes, caseIds } = run;
  const file = path.posix.join(folder, MADE_TWICE);
  const named = new Set(document?.cases.flatMap(({ second }) => second?.outcome_sha256 ?? []));
  for (const [sha256, { statement, place }] of outcomes)
    if (statement.predicate.again !== undefined && !named.has(sha256))
      yield { file: place, at: 'payload', message: `is a second outcome that ${MADE_TWICE} does not name` };
  if (!document) {
    const at = 'twice';
    if (request?.twice)
      yield { file: path.posix.join(folder, 'evidence/request.json'), at, message: `requires ${MADE_TWICE}` };
    return;
  }
  const { twice } = request ?? {};
  if (!request || !twice) yield { file, at: 'share', message: 'belongs to a run that makes no attempt twice' };
  else if (document.run_id !== request.run_id) yield { file, at: 'run_id', message: 'is not the run in request.json' };
  else if (document.share !== twice.share) yield { file, at: 'share', message: 'is not the share in request.json' };
  else {
    const chosen = caseIds.filter(id => isChosenTwice(twice, request.run_id, id));
    if (chosen.join() !== document.cases.map(one => one.case_id).join())
      yield { file, at: 'cases', message: 'are not the cases that the share and the salt select' };
    const compare = replyComparison(request);
    for (const [index, one] of document.cases.entries())
      for (const [key, message] of caseFaults(one, run, compare, files))
        yield { file, at: `cases[${index}].${key}`, message };
  }
}

type KeyFault = readonly [key: string, message: string];

function* caseFaults(
  one: TwiceCase,
  { outcomes, stated, request }: TwiceFolder,
  compare: ReplyComparison | undefined,
  files: Files,
): Generator<KeyFault> {
  const { first, second } = one;
  const artifact = stated.get(one.case_id);
  if (!first) {
    if (artifact?.outcome !== undefined)
      yield ['first', 'is null, but a worker signed the attempt that ended the case'];
    return;
  }
  if (artifact?.outcome !== first.outcome_sha256 || artifact.attempts !== one.attempt)
    yield ['first', 'is not the attempt that ended the case'];
  const keyOf = (again?: number) => ({ run_id: request?.run_id, case_id: one.case_id, attempt: one.attempt, again });
  const before = yield* signedOutcome('first', first, outcomes, keyOf());
  if (!second) return;
  const after = yield* signedOutcome('second', second, outcomes, keyOf(second.again));
  if (!before || !after || !artifact || !compare) return;
  const answer = yield* secondAnswer(one, before, after, artifact, compare, files);
  if (!answer) return;
  const proven = provenKinds(before, after, answer.answer === artifact.answer);
  const claimed = one.differs?.filter(kind => kind !== 'verdict') ?? [];
  if (proven.join() !== claimed.join()) yield ['differs', 'does not follow from the two outcomes and replies'];
  if (answer.response === artifact.response && one.differs?.includes('verdict'))
    yield ['differs', 'lists verdict, but both replies are the same'];
}

/** The statement of a side, if its worker signed it with the key that is stated. */
function* signedOutcome(
  name: 'first' | 'second',
  side: NonNullable<TwiceCase['first']>,
  outcomes: ReadonlyMap<string, Signed>,
  expected: { readonly [Key in 'run_id' | 'case_id' | 'attempt' | 'again']: unknown },
): Generator<KeyFault, AttemptStatement | undefined> {
  const found = outcomes.get(side.outcome_sha256);
  if (!found) {
    yield [`${name}.outcome_sha256`, 'refers to an outcome that is missing'];
    return undefined;
  }
  const { predicate } = found.statement;
  for (const key of ['run_id', 'case_id', 'attempt', 'again'] as const)
    if (predicate[key] !== expected[key]) yield [name, `differs in ${key} from the outcome that its worker signed`];
  if (predicate.worker.name !== side.worker)
    yield [`${name}.worker`, 'differs from the outcome that the worker signed'];
  const key = publicKeyIn(side.public_key);
  if (!key || signedBy(key, found.envelope) !== 'right')
    yield [`${name}.public_key`, 'is not the key that signed the outcome'];
  return found.statement;
}

/** What follows from the second reply; undefined if its bytes are not there. */
function* secondAnswer(
  { case_id, attempt, second }: TwiceCase,
  before: AttemptStatement,
  after: AttemptStatement,
  ofFirst: ComparedAnswer,
  compare: ReplyComparison,
  { bytesOf, hashOf }: Files,
): Generator<KeyFault, ComparedAnswer | undefined> {
  const digest = after.subject[0]?.digest.sha256;
  if (after.predicate.outcome !== 'ok') {
    if (second?.reply) yield ['second.reply', 'must be null, because the attempt has no answer'];
    return NO_ANSWER;
  }
  const isSame = before.predicate.outcome === 'ok' && before.subject[0]?.digest.sha256 === digest;
  if (isSame !== (second?.reply === null)) {
    yield ['second.reply', 'must be null if and only if the first worker received the same bytes'];
    return undefined;
  }
  if (isSame) return ofFirst;
  const href = second?.reply ?? '';
  const sha256 = hashOf(href);
  const body = sha256 === `sha256:${digest}` ? bytesOf(href) : undefined;
  if (!body) {
    yield ['second.reply', 'does not have the bytes that the second worker signed'];
    return undefined;
  }
  const { frame_ms } = after.predicate;
  const reply = {
    schema_version: 'suite-reply.v1',
    case_id,
    attempt: attempt ?? 1,
    sha256: `sha256:${digest}`,
  } as const;
  return compare({ ...reply, bytes: body.length, ...(frame_ms && { frame_ms }) } satisfies SuiteReply, body);
}

/** The kinds that follow from the evidence. The verdict also depends on the expectations. */
function provenKinds(before: AttemptStatement, after: AttemptStatement, isSameText: boolean): TwiceKind[] {
  const [one, other] = [before.predicate.failure?.class, after.predicate.failure?.class];
  if (one !== other) return ['outcome'];
  return one === undefined && !isSameText ? ['text'] : [];
}

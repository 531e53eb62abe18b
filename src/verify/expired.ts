import { readJson } from '../base/json.ts';
import { expiry, openExpiry } from '../contracts/expiry/index.ts';
import { openSeal, type SealEnvelope, type SealStatement } from '../contracts/seal/index.ts';
import { keyIdsOf } from '../evidence/judgement/judgement.ts';
import { EXPIRED } from '../evidence/run-folder/expired.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { EX } from './expiry-rules.ts';
import type { FolderFinding, Surroundings } from './inspector.ts';

export interface ExpiredFiles {
  /** Missing files that a valid note lists. */
  readonly files: ReadonlySet<string>;
  readonly notChecked: readonly string[];
}

/** EX5 and EX6: compares the notes about expired files with the seals. A wrong note excuses nothing. */
export function expiredFiles(surroundings: Omit<Surroundings, 'isExpired'>): ExpiredFiles {
  const { tree, isForeign, report } = surroundings;
  const files = new Set<string>();
  const notChecked: string[] = [];
  for (const file of tree.paths.filter(
    name => (name === EXPIRED || name.endsWith(`/${EXPIRED}`)) && !isForeign(name),
  )) {
    const below = file.slice(0, -EXPIRED.length);
    const note = openExpiry(valueIn(file, surroundings));
    // A note that breaks its contract has its own verdict.
    if (!note) continue;
    const { statement, envelope } = note;
    const findings = [...contradictions(file, below, statement, envelope, surroundings)];
    for (const finding of findings) report(finding);
    if (findings.length > 0) continue;
    const gone = statement.subject.map(({ name }) => below + name).filter(name => !tree.files.has(name));
    for (const name of gone) files.add(name);
    if (gone.length > 0) notChecked.push(expiredText(gone, statement.predicate.expired_at));
  }
  return { files, notChecked };
}

function* contradictions(
  file: string,
  below: string,
  { subject, predicate }: NonNullable<ReturnType<typeof openExpiry>>['statement'],
  envelope: SealEnvelope,
  surroundings: Omit<Surroundings, 'isExpired'>,
): Generator<FolderFinding> {
  const place = { rule: EX.EX5.id, level: 'must', file } as const;
  const sealed = valueIn(below + SEAL, surroundings);
  const opened = openSeal(sealed);
  if (!opened.ok) {
    yield { ...place, message: 'has no readable seal next to it' };
    return;
  }
  if (surroundings.hashOf(below + SEAL) !== predicate.seal_sha256)
    yield { ...place, at: 'payload.predicate.seal_sha256', message: `is not the hash of ${SEAL}` };
  if (opened.statement.predicate.run_id !== predicate.run_id)
    yield { ...place, at: 'payload.predicate.run_id', message: 'names another run than the seal' };
  const listed = new Map(opened.statement.subject.map(one => [one.name, one]));
  for (const [index, one] of subject.entries()) {
    if (!isSame(one, listed.get(one.name)))
      yield {
        ...place,
        at: `payload.subject[${index}]`,
        message: 'is not listed in the seal with this digest and size',
      };
  }
  const run = sealed as SealEnvelope;
  if (run.signatures.length === 0) return;
  if (envelope.signatures.length === 0)
    yield { ...place, rule: EX.EX6.id, message: 'is not signed, but the seal of the run is' };
  else if (!isByOneOf(keyIdsOf(run), keyIdsOf(envelope)))
    yield { ...place, rule: EX.EX6.id, message: 'is signed with a different key than the run' };
}

/** A run that a server accepted from a worker has the signatures of both. Each of them may remove files. */
function isByOneOf(keys: readonly string[], signers: readonly string[]): boolean {
  return signers.length === 0 ? keys.length === 0 : signers.every(one => keys.includes(one));
}

type Subject = SealStatement['subject'][number];

function isSame(one: Subject, sealed: Subject | undefined): boolean {
  return sealed?.digest.sha256 === one.digest.sha256 && sealed.annotations.size_bytes === one.annotations.size_bytes;
}

function valueIn(file: string, { bytesOf }: Pick<Surroundings, 'bytesOf'>): unknown {
  const bytes = bytesOf(file);
  const reading = bytes && readJson(bytes, { bytesMax: expiry.bytesMax });
  return reading?.ok ? reading.value : undefined;
}

function expiredText(files: readonly string[], at: string): string {
  const more = files.length > NAMES_SHOWN ? ` and ${files.length - NAMES_SHOWN} more` : '';
  const what = files.length === 1 ? 'file that expired by' : 'files that expired by';
  return `${files.length} ${what} ${at}: ${files.slice(0, NAMES_SHOWN).join(', ')}${more}`;
}

const NAMES_SHOWN = 5;

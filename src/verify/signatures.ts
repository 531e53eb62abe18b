import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import { holdsPrivateKey, keyIdOf, publicKeyIn } from '../base/ed25519.ts';
import { Fault } from '../base/fault.ts';
import type { Baseline } from '../contracts/baseline/index.ts';
import { openJudgement, unknownKeys } from '../contracts/judgement-seal/index.ts';
import { type SealEnvelope, signedBy } from '../contracts/seal/index.ts';
import type { Options } from './options.ts';
import { SL } from './folder-rules.ts';
import type { FolderFinding, Inspector, Surroundings } from './inspector.ts';
import type { Signatures } from './verdict.ts';
import { above } from './walk.ts';

/** Whose signature is looked for, and whether one must be there. */
export interface Trust {
  readonly key: KeyObject;
  readonly keyId: string;
  readonly isRequired: boolean;
}

/** What a caller trusts; undefined if nobody was named. */
export function trustOf({ key: pem, requireSignature = false }: Options): Trust | undefined {
  if (pem === undefined) {
    if (!requireSignature) return undefined;
    throw new Fault('usage', 'A signature says something only of a key that you know: --key FILE names it.');
  }
  const key = typeof pem === 'string' ? publicKeyIn(pem) : undefined;
  if (key) return { key, keyId: keyIdOf(key), isRequired: requireSignature };
  throw new Fault(
    'usage',
    holdsPrivateKey(pem)
      ? 'The key is a private one. Keep it to yourself: the public one beside it, .pub, is enough to verify.'
      : 'The key is not one Ed25519 public key in PEM, as proctor keys new writes it with the ending .pub.',
  );
}

export interface SignatureInspector extends Inspector {
  /** What the seals of the folder say, if there are any. */
  readonly signatures: Signatures | undefined;
  /** The files that the seals of judgements list, and those seals. */
  readonly listed: ReadonlySet<string>;
  /** What they leave open. */
  readonly notes: readonly string[];
}

/** SL8, SL9 and SL10: who sealed the folder, as far as the key that was given can tell. */
export function signatureInspector(
  { tree, troubled, report }: Surroundings,
  trust: Trust | undefined,
): SignatureInspector {
  const notes: string[] = [];
  const keyIds = new Set<string>();
  /** The folders that have a seal; '' is the top. */
  const sealed = new Set<string>();
  /** The files that seals of judgements list, and those seals. */
  const listedFiles = new Set<string>();
  let signed = 0;
  let unsigned = 0;
  let right = 0;
  const lacking = trust?.isRequired ? 'must' : 'should';

  function judge({ key, keyId }: Trust, file: string, envelope: SealEnvelope): FolderFinding | undefined {
    if (envelope.signatures.length === 0) return { rule: SL.SL10.id, level: lacking, file, message: UNSIGNED };
    const finding = signatureTrouble({ key, keyId }, envelope);
    if (finding) return { ...finding, level: 'must', file };
    right++;
    return undefined;
  }

  function isCovered(file: string): boolean {
    return listedFiles.has(file) || isWithin(file, sealed);
  }

  /** Files that no seal answers for, told by the first of them. A seal that is broken has a verdict of its own. */
  function unsealed(): FolderFinding | undefined {
    if ([...troubled].some(file => /(?:^|\/|\.)seal\.json$/.test(file))) return undefined;
    const isHome = tree.paths.some(file => file.startsWith('runs/'));
    const files = tree.paths.filter(file => !isCovered(file) && !(isHome && OF_THE_HOME.test(file)));
    const [file] = files;
    if (file === undefined) return undefined;
    const more = files.length > 1 ? `, and neither do ${files.length - 1} more` : '';
    return {
      rule: SL.SL10.id,
      level: lacking,
      file,
      message: `lies in no folder with a seal, and no seal lists it${more}`,
    };
  }

  return {
    notes,
    listed: listedFiles,
    get signatures() {
      if (signed + unsigned === 0) return undefined;
      return { signed, unsigned, key_ids: [...keyIds], checked: trust !== undefined && right === signed && signed > 0 };
    },
    take({ file, contract, value }) {
      const envelope = envelopeIn(contract.name, value);
      if (!envelope) return;
      const folder = above(file, contract.claimsFrom ?? 0);
      if (contract.name === 'seal' && folder !== undefined) sealed.add(folder);
      if (contract.name !== 'seal') for (const name of listedBy(envelope, file)) listedFiles.add(name);
      if (envelope.signatures.length > 0) signed++;
      else unsigned++;
      for (const id of keyIdsOf(envelope)) if (keyIds.size < KEY_IDS_MAX) keyIds.add(id);
      const finding = trust && judge(trust, file, envelope);
      if (finding) report(finding);
    },
    end() {
      const finding = trust && unsealed();
      if (finding) report(finding);
      if (unsigned > 0 && !trust) notes.push('An unsigned seal shows accidents, not forgery.');
      if (signed > 0 && !trust) {
        notes.push(`The signature was not checked: --key FILE does. It names ${listed([...keyIds])}.`);
      }
    },
  };
}

/** Why a signed envelope is not to be trusted with a key, by the rule that it breaks. */
export function signatureTrouble(
  { key, keyId }: Pick<Trust, 'key' | 'keyId'>,
  envelope: SealEnvelope,
): { readonly rule: string; readonly message: string } | undefined {
  const answer = signedBy(key, envelope);
  if (answer === 'by another key') {
    const message = `is signed by ${listed(keyIdsOf(envelope))}, and not by the key that was given, ${keyId}`;
    return { rule: SL.SL8.id, message };
  }
  if (answer === 'wrong') return { rule: SL.SL9.id, message: WRONG };
  for (const { path: at } of unknownKeys(envelope))
    return { rule: SL.SL9.id, message: `holds ${at}, which nobody signed` };
  return undefined;
}

/** The envelope that a document is, or holds. */
function envelopeIn(name: string, value: object): SealEnvelope | undefined {
  if (name === 'seal' || name === 'judgement-seal') return value as SealEnvelope;
  return name === 'baseline' ? (value as Baseline).seal : undefined;
}

/** A judgement's seal, or a sealed baseline, and the files that it lists. */
function* listedBy(envelope: SealEnvelope, file: string): Generator<string> {
  yield file;
  const opened = openJudgement(envelope);
  if (!opened.ok || opened.statement.predicate.kind === 'baseline') return;
  for (const { name } of opened.statement.subject) yield path.posix.join(path.posix.dirname(file), name);
}

/** What lies in a home beside its runs, and is evidence of none. */
const OF_THE_HOME =
  /^(?:(?:attempts\/)?(?:\.gitignore|cache\/.+)|settings\.json|ledger(?:-repairs)?\.ndjson|(?:keys|kept|reports)\/.+)$/;

const KEY_IDS_MAX = 16;

const UNSIGNED = 'is not signed: whoever changed a file could have written it';
const WRONG =
  'has a signature of the key that was given, and it is wrong: the seal was changed, or somebody else made it';

/** The keys that signatures name, of those that are named as ours are. */
function keyIdsOf({ signatures }: SealEnvelope): string[] {
  return signatures.flatMap(({ keyid }) => (keyid !== undefined && KEY_ID.test(keyid) ? [keyid] : []));
}

const KEY_ID = /^sha256:[0-9a-f]{64}$/;

function listed(keyIds: readonly string[]): string {
  return keyIds.length === 0 ? 'a key without a name' : keyIds.join(', ');
}

function isWithin(file: string, folders: ReadonlySet<string>): boolean {
  if (folders.has('')) return true;
  for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1)) {
    if (folders.has(file.slice(0, end))) return true;
  }
  return false;
}

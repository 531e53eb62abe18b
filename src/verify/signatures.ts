import path from 'node:path';
import { holdsPrivateKey, publicKeyIn } from '../base/ed25519.ts';
import { Fault } from '../base/fault.ts';
import type { Baseline } from '../contracts/baseline/index.ts';
import { openJudgement, unknownKeys } from '../contracts/judgement-seal/index.ts';
import { type Checker, checkerWith, type SealEnvelope } from '../contracts/seal/index.ts';
import type { Options } from './options.ts';
import { SL } from './folder-rules.ts';
import type { FolderFinding, Inspector, Surroundings } from './inspector.ts';
import type { Signatures } from './verdict.ts';
import { above, type Tree } from './walk.ts';

/** The keys to verify with, and whether signatures are required. */
export interface Trust {
  /** Not empty. */
  readonly keys: readonly Checker[];
  readonly revoked: readonly Checker[];
  readonly isRequired: boolean;
}

/** Undefined if the caller named no key. */
export function trustOf({ key, revoked = [], requireSignature = false }: Options): Trust | undefined {
  const pems: readonly unknown[] = Array.isArray(key) ? key : key === undefined ? [] : [key];
  if (pems.length > 0)
    return { keys: pems.map(checkerIn), revoked: revoked.map(checkerIn), isRequired: requireSignature };
  if (!requireSignature && revoked.length === 0) return undefined;
  const flag = requireSignature ? '--require-signature' : '--revoked';
  throw new Fault('usage', `${flag} requires a key that you trust. Specify it with --key FILE.`);
}

function checkerIn(pem: unknown): Checker {
  const key = typeof pem === 'string' ? publicKeyIn(pem) : undefined;
  if (key) return checkerWith(key);
  throw new Fault(
    'usage',
    typeof pem === 'string' && holdsPrivateKey(pem)
      ? 'The key is a private key. Keep it secret, and verify with the public key next to it (.pub).'
      : 'The key is not an Ed25519 public key in PEM format. proctor keys new writes one with the extension .pub.',
  );
}

export interface SignatureInspector extends Inspector {
  /** Undefined if the folder has no seals. */
  readonly signatures: Signatures | undefined;
  /** The seals of judgements, and the files that they list. */
  readonly listed: ReadonlySet<string>;
  /** Notes for the user that are not rule violations. */
  readonly notes: readonly string[];
}

/** SL8, SL9 and SL10: checks with the given keys who sealed the folder. */
export function signatureInspector(
  { tree, troubled, report }: Surroundings,
  trust: Trust | undefined,
): SignatureInspector {
  const notes: string[] = [];
  const keyIds = new Set<string>();
  /** Folders with a seal; '' is the top. */
  const sealed = new Set<string>();
  const listedFiles = new Set<string>();
  let signed = 0;
  let unsigned = 0;
  let right = 0;
  const lacking = trust?.isRequired ? 'must' : 'should';

  function judge(trusted: Trust, file: string, envelope: SealEnvelope): FolderFinding | undefined {
    if (envelope.signatures.length === 0) return { rule: SL.SL10.id, level: lacking, file, message: UNSIGNED };
    const finding = signatureFault(trusted, envelope);
    if (finding) return { ...finding, level: 'must', file };
    right++;
    return undefined;
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
      // An invalid seal has its own verdict.
      const isBroken = [...troubled].some(file => /(?:^|\/|\.)seal\.json$/.test(file));
      const finding = trust && !isBroken && unsealed(tree, file => listedFiles.has(file) || isWithin(file, sealed));
      if (finding) report({ ...finding, rule: SL.SL10.id, level: lacking });
      if (unsigned > 0 && !trust) notes.push('An unsigned seal reveals accidental changes, but not forgery.');
      if (signed > 0 && !trust) {
        notes.push(`The signature was not checked. Use --key FILE to check it. It names ${listed([...keyIds])}.`);
      }
    },
  };
}

/** The first file that no seal covers, with the number of others. */
function unsealed(
  { paths }: Tree,
  isCovered: (file: string) => boolean,
): Pick<FolderFinding, 'file' | 'message'> | undefined {
  const isHome = paths.some(file => file.startsWith('runs/'));
  const files = paths.filter(file => !isCovered(file) && !(isHome && OF_THE_HOME.test(file)));
  const [file] = files;
  if (file === undefined) return undefined;
  const more = files.length > 1 ? ` (and ${files.length - 1} more)` : '';
  return { file, message: `is not covered by any seal${more}` };
}

/** Why a signed envelope cannot be trusted, and the rule that it violates. */
export function signatureFault(
  { keys, revoked }: Pick<Trust, 'keys' | 'revoked'>,
  envelope: SealEnvelope,
): { readonly rule: string; readonly message: string } | undefined {
  const withdrawn = revoked.find(key => key.hasSigned(envelope) === 'right');
  if (withdrawn) return { rule: SL.SL8.id, message: `is signed with the revoked key ${withdrawn.keyId}` };
  const answers = keys.map(key => key.hasSigned(envelope));
  if (answers.every(answer => answer === 'by another key')) {
    const given = `${keys.length === 1 ? 'the given key' : 'one of the given keys'} ${listed(keys.map(({ keyId }) => keyId))}`;
    return { rule: SL.SL8.id, message: `is signed with ${listed(keyIdsOf(envelope))}, not with ${given}` };
  }
  if (!answers.includes('right')) return { rule: SL.SL9.id, message: WRONG };
  for (const { path: at } of unknownKeys(envelope))
    return { rule: SL.SL9.id, message: `contains ${at}, which no signature covers` };
  return undefined;
}

/** A seal is an envelope. A baseline contains one. */
function envelopeIn(name: string, value: object): SealEnvelope | undefined {
  if (name === 'seal' || name === 'judgement-seal' || name === 'expiry') return value as SealEnvelope;
  return name === 'baseline' ? (value as Baseline).seal : undefined;
}

/** The seal of a judgement and the files that it lists, or a sealed baseline. */
function* listedBy(envelope: SealEnvelope, file: string): Generator<string> {
  yield file;
  const opened = openJudgement(envelope);
  if (!opened.ok || opened.statement.predicate.kind === 'baseline') return;
  for (const { name } of opened.statement.subject) yield path.posix.join(path.posix.dirname(file), name);
}

/** Files of a Proctor home that are not evidence. */
const OF_THE_HOME =
  /^(?:(?:attempts\/)?(?:\.gitignore|cache\/.+)|settings\.json|ledger(?:-repairs)?\.ndjson|(?:keys|kept|parts|reports)\/.+)$/;

const KEY_IDS_MAX = 16;

const UNSIGNED = 'is not signed: anyone who changed a file could have written it';
const WRONG = 'has an invalid signature for the given key: the seal was changed, or someone else signed it';

/** The valid key ids that the signatures name. */
function keyIdsOf({ signatures }: SealEnvelope): string[] {
  return signatures.flatMap(({ keyid }) => (keyid !== undefined && KEY_ID.test(keyid) ? [keyid] : []));
}

const KEY_ID = /^sha256:[0-9a-f]{64}$/;

function listed(keyIds: readonly string[]): string {
  return keyIds.length === 0 ? 'a key without an id' : keyIds.join(', ');
}

function isWithin(file: string, folders: ReadonlySet<string>): boolean {
  if (folders.has('')) return true;
  for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1)) {
    if (folders.has(file.slice(0, end))) return true;
  }
  return false;
}

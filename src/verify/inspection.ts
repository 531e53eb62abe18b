import path from 'node:path';
import { contentHash } from '../base/hash.ts';
import { readJson } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import { isStartedHere } from '../evidence/run-folder/journal.ts';
import { agentCaseInspector } from './agent-cases.ts';
import { agentInspector } from './agents.ts';
import { agreementInspector } from './agreement.ts';
import { caseInspector } from './cases.ts';
import { type ClaimInspector, claimInspector } from './claims.ts';
import { environmentInspector } from './environments.ts';
import { evaluationInspector } from './evaluation.ts';
import { BYTES_MAX, type Examined } from './examine.ts';
import { type ExpiredFiles, expiredFiles } from './expired.ts';
import { failureInspector } from './failures.ts';
import { journalsIn } from './foreign.ts';
import { hostPathInspector } from './host-paths.ts';
import type { Inspector, ReportFinding, Surroundings } from './inspector.ts';
import { intentInspector } from './intents.ts';
import { judgementInspector } from './judgements.ts';
import { madeTwiceInspector } from './made-twice.ts';
import { once } from './once.ts';
import type { Options } from './options.ts';
import { partInspector } from './parts.ts';
import { outcomeInspector } from './outcomes.ts';
import { replyInspector } from './replies.ts';
import { type SealInspector, sealInspector } from './seal.ts';
import type { FileSource } from './file-source.ts';
import { type SignatureInspector, signatureInspector, trustOf } from './signatures.ts';
import type { DocumentSource } from './source.ts';
import type { Verdict } from './verdict.ts';

/** Passes a folder's valid documents to all inspectors, and knows which files were not checked. */
export class Inspection {
  readonly journals: ReadonlySet<string>;
  readonly signing: SignatureInspector;
  /** Notes for the user that are not rule violations. */
  readonly notes: string[] = [];
  readonly #files: Iterable<string>;
  readonly #ofServers: readonly string[];
  readonly #claims: ClaimInspector;
  readonly #seals: SealInspector;
  readonly #inspectors: readonly Inspector[];
  readonly #isStrict: boolean;
  readonly #troubled = new Set<string>();
  readonly #known: Set<string>;
  readonly #strangers = new Set<string>();
  readonly #expired: ExpiredFiles;

  constructor(
    shelf: FileSource,
    options: Options,
    report: ReportFinding,
    further: (surroundings: Surroundings) => readonly Inspector[],
  ) {
    this.journals = journalsIn(shelf.tree, shelf.isForeign);
    this.#files = shelf.tree.paths;
    this.#ofServers = shelf.tree.ofServers;
    this.#known = new Set(this.journals);
    this.#isStrict = options.strict === true;
    const around = surroundingsOf(shelf, this.journals, this.#troubled, report);
    this.#expired = expiredFiles(around);
    const surroundings: Surroundings = { ...around, isExpired: file => this.#expired.files.has(file) };
    const trust = trustOf(options);
    this.#claims = claimInspector(surroundings);
    this.#seals = sealInspector(surroundings, this.#claims.disputed);
    this.signing = signatureInspector(surroundings, trust);
    this.#inspectors = [
      this.#claims,
      this.#seals,
      this.signing,
      caseInspector(surroundings),
      failureInspector(surroundings),
      environmentInspector(surroundings),
      agreementInspector(surroundings),
      evaluationInspector(surroundings),
      judgementInspector(surroundings, { isRequired: trust?.isRequired === true }),
      intentInspector(surroundings),
      agentInspector(surroundings),
      agentCaseInspector(surroundings),
      replyInspector(surroundings),
      partInspector(surroundings, trust),
      outcomeInspector(surroundings, trust),
      madeTwiceInspector(surroundings, this.notes),
      hostPathInspector(report),
      ...further(surroundings),
    ];
  }

  /**
   * Sets aside a file that is not one of Proctor's documents, and returns true: a response body in assets/ or, unless
   * `strict` is set, a file of unknown format.
   */
  setsAside(file: string, { outcome, reason }: Verdict): boolean {
    const isStranger =
      outcome === 'refused' &&
      (/(?:^|\/)assets\/(?!manifest\.json$)/.test(file) || (!this.#isStrict && reason?.code === 'unknown_format'));
    (isStranger ? this.#strangers : this.#known).add(file);
    return isStranger;
  }

  /** Inspects a document if it is valid. Comparing an invalid one with the rest would be pointless. */
  take(file: string, place: string, { contract, value, verdict }: Examined): void {
    if (!contract || verdict.outcome !== 'valid' || typeof value !== 'object' || value === null) return;
    const environmentHash = verdict.environment_hash;
    for (const inspector of this.#inspectors) inspector.take({ file, place, contract, value, environmentHash });
  }

  /** Records the final verdict on a document, which other documents may have made invalid. */
  judged(file: string, { outcome }: Verdict): void {
    if (outcome !== 'valid') this.#troubled.add(file);
  }

  end(): void {
    for (const inspector of this.#inspectors) inspector.end?.();
  }

  /** What the verdict on the folder does not cover. */
  notChecked(): string[] {
    const isCovered = (file: string): boolean =>
      this.#known.has(file) ||
      this.#claims.claimed.has(file) ||
      this.#seals.sealed.has(file) ||
      this.signing.listed.has(file);
    const others = [...this.#files].filter(file => !isCovered(file));
    const outside = this.#claims.outside + this.#seals.outside;
    return [
      ...listed(
        'of unknown format',
        others.filter(file => this.#strangers.has(file)),
      ),
      ...listed(
        'that no document refers to',
        others.filter(file => !this.#strangers.has(file)),
      ),
      ...this.#ofServers.map(folder => `the files of the server in ${folder}, which are not evidence`),
      ...(outside > 0 ? [`${outside} references to files outside this folder`] : []),
      ...this.#seals.notChecked,
      ...this.#expired.notChecked,
    ];
  }
}

function surroundingsOf(
  shelf: FileSource,
  journals: ReadonlySet<string>,
  troubled: ReadonlySet<string>,
  report: ReportFinding,
): Omit<Surroundings, 'isExpired'> {
  const { tree, isForeign, folder } = shelf;
  return {
    tree,
    hashOf: once(shelf.hash),
    bytesOf: file => {
      const source = shelf.read(file, BYTES_MAX);
      return source.ok ? source.bytes : undefined;
    },
    linesIn: file => linesIn(shelf, file),
    documentHashOf: once(file => documentHash(shelf.read(file, BYTES_MAX))),
    troubled,
    isForeign,
    journals,
    isStartedHere: file => folder !== undefined && isStartedHere(path.dirname(path.join(folder, file))),
    report,
  };
}

function* linesIn(shelf: FileSource, file: string): Generator<Buffer> {
  const opened = shelf.open(file);
  if (!opened.ok) return;
  try {
    for (const { bytes } of linesOf(opened.fd, BYTES_MAX, opened.span?.from ?? 0, opened.span?.to)) {
      if (!bytes) return;
      yield bytes;
    }
  } finally {
    opened.close();
  }
}

function documentHash(source: DocumentSource): string | undefined {
  const reading = source.ok ? readJson(source.bytes, { bytesMax: BYTES_MAX }) : undefined;
  return reading?.ok ? contentHash(reading.value) : undefined;
}

/** "2 files that no document refers to: a.txt, b.bin", or nothing. */
function listed(what: string, files: readonly string[]): string[] {
  if (files.length === 0) return [];
  const more = files.length > NAMES_SHOWN ? ` and ${files.length - NAMES_SHOWN} more` : '';
  return [
    `${files.length} file${files.length === 1 ? '' : 's'} ${what}: ${files.slice(0, NAMES_SHOWN).join(', ')}${more}`,
  ];
}

const NAMES_SHOWN = 5;

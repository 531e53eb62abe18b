import path from 'node:path';
import type { FileClaim } from '../contracts/claim.ts';
import { unsafePath } from '../base/path.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { FolderDocument, FolderFinding, Inspector, Surroundings } from './inspector.ts';
import { above, filesBelow, type Tree } from './walk.ts';

export interface ClaimInspector extends Inspector {
  /** Files that a document refers to. */
  readonly claimed: ReadonlySet<string>;
  /** The number of references to files outside the folder, for example if a manifest is verified without its run. */
  readonly outside: number;
  /** Files that do not match a document that refers to them. */
  readonly disputed: ReadonlySet<string>;
}

/** FD2, FD3 and FD4: compares references to files with the files. */
export function claimInspector(surroundings: Surroundings): ClaimInspector {
  const { tree, report } = surroundings;
  const assets: AssetClaim[] = [];
  const assetIds = new Map<string, Set<string>>();
  const claimed = new Set<string>();
  const disputed = new Set<string>();
  let outside = 0;

  return {
    claimed,
    disputed,
    get outside() {
      return outside;
    },
    take({ file, place, contract, value }: FolderDocument) {
      if (contract.name === 'assets-manifest') {
        const { items } = value as { items: readonly { asset_id: string }[] };
        assetIds.set(above(file, 1) ?? '', new Set(items.map(({ asset_id }) => asset_id)));
      }
      if (!contract.claims) return;
      const base = above(file, contract.claimsFrom ?? 0);
      const listed = new Set([file]);
      for (const claim of contract.claims(value as never)) {
        if ('asset' in claim) {
          assets.push({ file, at: claim.at, run: above(file, 0) ?? '', id: claim.asset });
          continue;
        }
        // A path that leaves the folder already violates the contract of its document.
        if (unsafePath(claim.file)) continue;
        if (base === undefined) {
          outside++;
          continue;
        }
        const target = resolve(base, file, claim.file, tree);
        if (target !== undefined) {
          listed.add(target);
          claimed.add(target);
        }
        if (target === undefined && surroundings.isExpired(joined(base, claim.file))) continue;
        for (const finding of judge(surroundings, place, claim, target)) {
          if (finding.level === 'must') disputed.add(target ?? joined(base, claim.file));
          report(finding);
        }
      }
      if (contract.listsItsFolder && base !== undefined && path.posix.basename(file) === 'manifest.json') {
        for (const finding of unlisted(file, listed, tree)) report(finding);
      }
    },

    end() {
      for (const finding of stepsWithoutManifest(surroundings)) report(finding);
      for (const finding of unknownAssets(surroundings, assets, assetIds)) report(finding);
    },
  };
}

function* judge(
  { tree, hashOf, documentHashOf }: Surroundings,
  file: string,
  claim: FileClaim,
  target: string | undefined,
): Generator<FolderFinding> {
  const level = claim.hint ? 'should' : 'must';
  const place = { level, file, at: claim.at } as const;
  if (target === undefined) {
    if (!claim.optional) yield { ...place, rule: FOLDER_RULES.FD2.id, message: 'refers to a file that does not exist' };
    return;
  }
  const size = tree.files.get(target);
  if (claim.bytes !== undefined && claim.bytes !== size) {
    yield { ...place, rule: FOLDER_RULES.FD3.id, message: `states ${claim.bytes} bytes, but the file has ${size}` };
  } else if (claim.sha256 !== undefined && claim.sha256 !== hashOf(target)) {
    yield { ...place, rule: FOLDER_RULES.FD3.id, message: 'does not match the hash of the file' };
  }
  if (claim.documentSha256 !== undefined && claim.documentSha256 !== documentHashOf(target)) {
    yield { ...place, rule: FOLDER_RULES.FD3.id, message: `does not match the content hash of ${target}` };
  }
}

/** An asset that a document refers to by its id. */
interface AssetClaim {
  readonly file: string;
  readonly at: string;
  readonly run: string;
  readonly id: string;
}

function* unknownAssets(
  { troubled }: Surroundings,
  assets: readonly AssetClaim[],
  assetIds: ReadonlyMap<string, ReadonlySet<string>>,
): Generator<FolderFinding> {
  const message = 'refers to an asset that assets/manifest.json does not list';
  for (const { file, at, run, id } of assets) {
    // An invalid manifest has its own verdict.
    const isBroken = troubled.has(path.posix.join(run, 'assets', 'manifest.json'));
    if (!isBroken && !assetIds.get(run)?.has(id)) yield { rule: FOLDER_RULES.FD2.id, level: 'must', file, at, message };
  }
}

/** Finds the file that a claim refers to. Some tools use paths relative to the document, whatever the contract says. */
function resolve(base: string, file: string, claimed: string, tree: Tree): string | undefined {
  for (const folder of [base, above(file, 0)]) {
    const target = joined(folder ?? '', claimed);
    if (tree.files.has(target)) return target;
  }
  return undefined;
}

function joined(folder: string, file: string): string {
  return path.posix.normalize(folder === '' ? file : `${folder}/${file}`);
}

function* unlisted(manifest: string, listed: ReadonlySet<string>, tree: Tree): Generator<FolderFinding> {
  const folder = above(manifest, 0) ?? '';
  const prefix = folder === '' ? '' : `${folder}/`;
  for (const file of filesBelow(prefix, tree)) {
    if (!listed.has(file)) {
      yield {
        rule: FOLDER_RULES.FD4.id,
        level: 'must',
        file,
        message: `is not listed in the ${path.posix.basename(manifest)} of its folder`,
      };
    }
  }
}

function* stepsWithoutManifest({ tree, isForeign }: Surroundings): Generator<FolderFinding> {
  const steps = new Map<string, string>();
  for (const file of tree.files.keys()) {
    if (isForeign(file)) continue;
    const [step] = /^(?:.*\/)?evidence\/steps\/[^/]+(?=\/)/.exec(file) ?? [];
    if (step !== undefined && !steps.has(step)) steps.set(step, file);
  }
  for (const [step, file] of steps) {
    if (!tree.files.has(`${step}/manifest.json`)) {
      yield { rule: FOLDER_RULES.FD4.id, level: 'must', file, message: 'is in a step folder without manifest.json' };
    }
  }
}

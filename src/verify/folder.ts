import path from 'node:path';
import { byRuleThenPath, FINDINGS_MAX, type Violation } from '../contracts/check.ts';
import { caseInspector } from './cases.ts';
import { claimInspector } from './claims.ts';
import { BYTES_MAX, type Examined, examine, type Options } from './examine.ts';
import { examineLines, notRead, worse } from './file.ts';
import { FD } from './folder-rules.ts';
import { hostPathInspector } from './host-paths.ts';
import type { FolderFinding, Inspector } from './inspector.ts';
import { readWhole } from './source.ts';
import { Unique } from './unique.ts';
import { type Outcome, refused, type Verdict } from './verdict.ts';
import { type Tree, walk } from './walk.ts';

/** Every document in a folder, then the folder itself: what its documents say of each other and of the files in it. */
export async function* verifyFolder(folder: string, options: Options): AsyncGenerator<Verdict> {
  const tree = walk(folder);
  if (!tree.ok) {
    yield notRead(folder, tree);
    return;
  }
  const inspectors: readonly Inspector[] = [claimInspector(folder, tree), caseInspector(), hostPathInspector()];
  const unique = new Unique();
  const notChecked = new Set<string>();
  const documents: Record<string, number> = {};
  let strangers = 0;
  let worst: Outcome = 'valid';

  for (const file of tree.files.keys()) {
    if (isOutput(file)) continue;
    for await (const examined of documentsIn(folder, file, options)) {
      const { contract, value } = examined;
      if (isStranger(file, examined.verdict)) {
        strangers++;
        continue;
      }
      const verdict: Verdict = { ...unique.judge(examined), within: folder };
      worst = worse(worst, verdict.outcome);
      documents[contract?.name ?? '-'] = (documents[contract?.name ?? '-'] ?? 0) + 1;
      for (const item of verdict.not_checked) notChecked.add(item);
      // Only what has kept its own contract is worth comparing with the rest.
      if (contract && examined.verdict.outcome === 'valid' && typeof value === 'object' && value !== null) {
        for (const inspector of inspectors) inspector.take({ file, contract, value });
      }
      yield verdict;
    }
  }
  if (Object.keys(documents).length === 0) {
    yield refused(folder, 'unknown_format', 'No file in this folder is a document that a contract knows.');
    return;
  }
  if (strangers > 0) notChecked.add(`${strangers} of the files in ${path.basename(folder)}, which no contract knows`);
  if (unique.isFull) notChecked.add(unique.limit);
  const { violations, advice, omitted } = sorted([
    ...oddEntries(tree),
    ...inspectors.flatMap(inspector => Array.from(inspector.findings())),
  ]);
  yield {
    input: folder,
    outcome: violations.length > 0 ? worse(worst, 'invalid') : worst,
    documents,
    violations,
    advice,
    ...(omitted > 0 && { omitted }),
    not_checked: [...notChecked],
  };
}

/** The documents that a file holds: one, one per line, or none. */
async function* documentsIn(folder: string, file: string, options: Options): AsyncGenerator<Examined> {
  const full = path.join(folder, file);
  const extension = path.extname(file).toLowerCase();
  if (extension === '.ndjson' || extension === '.jsonl') yield* examineLines(full, options);
  if (extension !== '.json') return;
  const source = readWhole(full, options.bytesMax ?? BYTES_MAX);
  if (source.ok)
    yield await examine(
      source.bytes,
      { input: full, fileName: path.basename(file), folder: path.dirname(full) },
      options,
    );
  else yield { verdict: notRead(full, source) };
}

/** What a script or a bundle wrote is its own business. */
function isOutput(file: string): boolean {
  return /(?:^|\/)output\//.test(file);
}

/** A file that is no document of ours: unknown everywhere, and of any form among the bodies that were saved as they came. */
function isStranger(file: string, { outcome, reason }: Verdict): boolean {
  return outcome === 'refused' && (reason?.code === 'unknown_format' || /(?:^|\/)assets\//.test(file));
}

function* oddEntries(tree: Tree): Generator<FolderFinding> {
  for (const { path, what } of tree.odd) yield { rule: FD.FD1.id, level: 'must', file: path, message: what };
}

function sorted(findings: readonly FolderFinding[]): { violations: Violation[]; advice: Violation[]; omitted: number } {
  const lists = { must: [] as Violation[], should: [] as Violation[] };
  for (const { rule, level, file, at, message } of findings) {
    const place = at === undefined ? file : `${file}#${at}`;
    lists[level].push({
      rule_id: rule,
      message: `${at === undefined ? file : `${file}: ${at}`} ${message}.`,
      path: place,
    });
  }
  const violations = lists.must.sort(byRuleThenPath).slice(0, FINDINGS_MAX);
  const advice = lists.should.sort(byRuleThenPath).slice(0, FINDINGS_MAX);
  return { violations, advice, omitted: findings.length - violations.length - advice.length };
}

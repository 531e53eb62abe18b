import { createHash, type Hash } from 'node:crypto';
import path from 'node:path';
import { readJson } from '../base/json.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';
import { isAsset, isShared, SHARED_FILES } from '../contracts/suite-part/files.ts';
import { type OpenedPart, openPart, type SuitePart } from '../contracts/suite-part/index.ts';
import { type PartedRun, partRules, PARTS_FILE } from '../contracts/suite-part/rules.ts';
import { BYTES_MAX } from './examine.ts';
import type { Inspector, Surroundings } from './inspector.ts';
import type { Trust } from './signatures.ts';
import { filesBelow } from './walk.ts';

interface Collected {
  request?: SuiteRequest;
  run?: RunArtifact;
  readonly parts: OpenedPart[];
}

/** PT2 to PT6: compares a merged run with the seals of its parts. */
export function partInspector(surroundings: Surroundings, trust: Trust | undefined): Inspector {
  const runs = new Map<string, Collected>();
  const runIn = (folder: string): Collected => {
    const run = runs.get(folder) ?? { parts: [] };
    runs.set(folder, run);
    return run;
  };
  return {
    take({ file, contract, value }) {
      if (contract.name === 'suite-part') {
        const opening = openPart(value as SuitePart);
        if (opening.ok) runIn(above(file, PARTS_FILE)).parts.push(opening.part);
      }
      if (contract.name === 'suite-request')
        runIn(above(file, 'evidence/request.json')).request = value as SuiteRequest;
      if (contract.name === 'run') runIn(above(file, 'run.json')).run = value as RunArtifact;
    },
    end() {
      for (const [below, { request, run, parts }] of runs) {
        // An invalid document has its own verdict.
        const isTroubled = surroundings.troubled.has(below + PARTS_FILE);
        if (!request || !run || isTroubled || (parts.length === 0 && !request.merged)) continue;
        const merged = { request, run, parts, ...lookInto(below, run, parts, surroundings) };
        const keys = trust && { keys: trust.keys, revoked: trust.revoked };
        for (const { id, check } of partRules)
          for (const { file, message } of check({ ...merged, ...keys }))
            surroundings.report({ rule: id, level: 'must', file: below + file, message });
      }
    },
  };
}

/** The folder around a file of a run, with a slash at its end; '' for the top. */
function above(file: string, name: string): string {
  return file.endsWith(name) ? file.slice(0, -name.length) : `${path.posix.dirname(file)}/`;
}

function lookInto(
  below: string,
  { selected_case_ids: ids }: RunArtifact,
  parts: readonly OpenedPart[],
  { tree, hashOf, linesIn }: Surroundings,
): Pick<PartedRun, 'files' | 'linesOf'> {
  const cases = new Set(ids.map(id => `${id}.json`));
  const files = new Map<string, string>();
  for (const file of filesBelow(below, tree)) {
    const name = file.slice(below.length);
    if ((cases.has(name) || isAsset(name)) && !isShared(name)) files.set(name, hashOf(file) ?? '');
  }
  const owners = new Map(parts.flatMap(part => part.run.selected_case_ids.map(id => [id, part] as const)));
  const digests = new Map(
    SHARED_FILES.filter(name => tree.files.has(below + name)).map(name => [
      name,
      digestsOf(linesIn(below + name), owners),
    ]),
  );
  return { files, linesOf: (name, part) => digests.get(name as (typeof SHARED_FILES)[number])?.(part) };
}

/** The digest of the lines of each part. A line that belongs to no part makes all of them undefined. */
function digestsOf(
  lines: Iterable<Buffer>,
  owners: ReadonlyMap<string, OpenedPart>,
): (part: OpenedPart) => string | undefined {
  const hashes = new Map<OpenedPart, Hash>();
  const hashFor = (part: OpenedPart): Hash => {
    const hash = hashes.get(part) ?? createHash('sha256');
    hashes.set(part, hash);
    return hash;
  };
  for (const line of lines) {
    const owner = owners.get(caseIn(line) ?? '');
    if (!owner) return () => undefined;
    hashFor(owner).update(line).update('\n');
  }
  const digests = new Map([...hashes].map(([part, hash]) => [part, `sha256:${hash.digest('hex')}`]));
  return part => digests.get(part) ?? NO_LINES;
}

const NO_LINES = `sha256:${createHash('sha256').digest('hex')}`;

/** The case that a line of cases or replies belongs to. */
function caseIn(line: Buffer): string | undefined {
  const reading = readJson(line, { bytesMax: BYTES_MAX });
  const { id, case_id = id } = (reading.ok ? (reading.value ?? {}) : {}) as { id?: unknown; case_id?: unknown };
  return typeof case_id === 'string' ? case_id : undefined;
}

import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { makeFolders, modesIn } from '../../base/private.ts';
import type { Shard } from '../../contracts/suite/index.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../../evidence/suite/suite-folder.ts';
import type { ProjectFile } from '../../run/project/project-file.ts';
import { type MergedRun, mergeRuns } from '../merge.ts';
import { packRun } from '../pack.ts';
import type { ShownSuiteResult } from '../run-suite.ts';
import { type SealedSuite, suiteResultOf } from '../suite-result.ts';
import type { SuiteTest } from './suite-test.ts';
import type { TestOptions } from './test-project.ts';

/** The runs of a project's suites, merged from parts that other machines ran. */
export class MergedSuites {
  readonly #runs: readonly MergedRun[];
  readonly #keyId: string | null;

  private constructor(runs: readonly MergedRun[], keyId: string | null) {
    this.#runs = runs;
    this.#keyId = keyId;
  }

  static async from(parts: readonly string[], { dir }: ProjectFile, options: TestOptions): Promise<MergedSuites> {
    const { cwd = process.cwd(), signingKey, signal, onWarning, keys } = options;
    const words = parts.map(word => (existsSync(path.resolve(cwd, word)) ? path.resolve(cwd, word) : word));
    const files = keys?.map(key => path.resolve(cwd, key));
    const { runs, keyId } = await mergeRuns({
      parts: words,
      // The suite is this project's, so its check scripts run as they do in one process.
      checks: true,
      cwd: dir,
      ...defined({ signingKey, signal, onWarning, keys: files }),
    });
    return new MergedSuites(runs, keyId);
  }

  /** The result of one side of a suite, as if this process had run it. */
  result({ name }: SuiteTest, side: 'baseline' | 'new'): ShownSuiteResult {
    const [first, ...others] = this.#runs
      .filter(({ suite, version }) => suite === name && version === side)
      .sort((a, b) => a.repetition.number - b.repetition.number)
      .map(({ place, evaluation }): SealedSuite => {
        const { run, request } = readSuiteFolder(place.folder);
        return { place, run, request, evaluation };
      });
    if (first) return suiteResultOf([first, ...others], this.#keyId);
    throw new Fault(
      'parts_missing',
      `There is no part of the suite ${name}, ${side}. Run it with proctor test --shard, and add its packs.`,
    );
  }
}

/** Packs the runs of a part, so that another machine can merge them. Returns the files. */
export async function packParts(
  suite: SuiteTest,
  results: readonly ShownSuiteResult[],
  shard: Shard,
  { dir }: ProjectFile,
  { out, cwd = process.cwd(), signal }: TestOptions,
): Promise<string[]> {
  const folder = out === undefined ? path.join(homeFrom(dir), 'parts', suite.name) : path.resolve(cwd, out, suite.name);
  makeFolders(folder, modesIn(path.dirname(folder)).folder);
  const files: string[] = [];
  for (const { version, runs } of results) {
    for (const [at, { place }] of runs.entries()) {
      const which = runs.length > 1 ? `.${at + 1}` : '';
      const file = path.join(folder, `${suite.name}.${version}.${shard.index}-of-${shard.total}${which}.proctor.tar`);
      // The pack of an earlier test.
      rmSync(file, { force: true });
      await packRun(place.folder, { out: file, cwd: dir, ...(signal && { signal }) });
      files.push(file);
    }
  }
  return files;
}

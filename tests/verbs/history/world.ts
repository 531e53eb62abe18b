import path from 'node:path';
import { instantText } from '../../../src/base/clock.ts';
import type { RunArtifact } from '../../../src/contracts/artifacts/index.ts';
import { repetitionId, rerunId, type SuiteRequest } from '../../../src/contracts/suite/index.ts';
import { makeHome } from '../../../src/evidence/run-folder/runs.ts';
import { judgeOwnRun } from '../../../src/verbs/judged.ts';
import { suiteFolder, type WorldCase } from '../../support/suite-world.ts';
import { temporaryFolder } from '../../support/support.ts';

export interface WorldRun {
  /** The letters of each case, one per trial: p passes, f fails, u has no expectation, n has no answer. */
  readonly cases: Readonly<Record<string, string>>;
  readonly side?: 'baseline' | 'new';
  readonly suite?: string;
  readonly run?: Partial<RunArtifact>;
  readonly request?: Partial<SuiteRequest>;
  /** What the cases expect. */
  readonly expects?: string;
  /** The letters of a later round. */
  readonly round?: Readonly<Record<string, string>>;
  readonly isJudged?: boolean;
  readonly costUsd?: number;
}

const FIRST_MS = Date.parse('2026-01-06T12:00:00.000Z');

/** A project with sealed and judged runs, made without running anything. */
export class HistoryWorld {
  readonly cwd: string;
  readonly home: string;
  #runs = 0;

  constructor(cwd = temporaryFolder()) {
    this.cwd = cwd;
    this.home = path.join(cwd, '.proctor');
    makeHome(this.home);
  }

  /** Adds a run one minute after the last one, and returns its id. */
  async add(run: WorldRun): Promise<string> {
    const startedAt = instantText(FIRST_MS + 60_000 * this.#runs++);
    const second = startedAt.replace(/[-:]|\..*$/g, '').replace('T', '_');
    const id = `suite_${second}_${String(this.#runs).padStart(12, '0')}`;
    const total = Math.max(1, ...Object.values(run.cases).map(({ length }) => length));
    for (let number = 1; number <= total; number++) {
      const repetition = { of: id, number, total };
      await this.#write(run, repetitionId(id, number), run.cases, number - 1, startedAt, { repetition });
    }
    if (run.round) {
      const of = rerunId(id, 1);
      const ids = Object.keys(run.round);
      const none = { passes: 0, trials: 0 };
      const cases = ids.map(case_id => ({ case_id, baseline: none, new: none, p: 1 }));
      const rerun = { of: id, round: 1, cases };
      await this.#write(run, of, run.round, 0, startedAt, {
        repetition: { of, number: 1, total: 1 },
        rerun,
        only: ids,
      });
    }
    return id;
  }

  async #write(
    { side = 'new', suite, run, request, expects = 'yes', isJudged = true, costUsd }: WorldRun,
    runId: string,
    cases: Readonly<Record<string, string>>,
    trial: number,
    startedAt: string,
    own: Partial<SuiteRequest>,
  ): Promise<void> {
    const folder = await suiteFolder(path.join(this.home, 'runs'), {
      version: side,
      runId,
      cases: Object.entries(cases).map(([id, letters]) => caseOf(id, letters[trial] ?? 'n', expects, costUsd)),
      run: { generated_at: startedAt, ...run },
      request: { ...own, ...(suite !== undefined && { suite }), ...request },
    });
    if (isJudged) await judgeOwnRun(folder, { home: this.home }, undefined);
  }
}

function caseOf(id: string, letter: string, expects: string, costUsd: number | undefined): WorldCase {
  const content = letter === 'f' ? 'nothing' : `${expects}, sir`;
  return {
    id,
    ...(letter !== 'u' && { expected: { contains: expects } }),
    artifact:
      letter === 'n'
        ? null
        : {
            final_output: { content_type: 'text', content },
            ...(costUsd !== undefined && { agent_fields: { cost_usd: costUsd } }),
          },
  };
}

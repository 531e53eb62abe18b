import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { readBelow } from '../../base/regular.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { JudgedCase } from '../../contracts/evaluation/index.ts';
import { type SuiteCase, targetName } from '../../contracts/suite/index.ts';
import { JournalTail } from '../../evidence/run-folder/journal-tail.ts';
import { SUITE_LINE_BYTES_MAX } from '../../evidence/suite/suite-resume.ts';
import type { SuiteLine, SuitePlan } from '../../evidence/suite/suite-run.ts';
import { Effort } from '../../judge/suite/effort.ts';
import { judgeCase } from '../../judge/suite/judge-case.ts';
import { type CaseUnderWay, openRunPage } from '../../reports/open-run-page.ts';
import { CaseFinder } from '../case-finder.ts';
import { isOwnerAlive } from '../recover.ts';
import { OpenedReport } from './opened-report.ts';

/**
 * An unfinished suite run, as far as its journal goes. It reads only new lines of the journal, and only lines that
 * prove that this user's Proctor wrote them here.
 */
export class OpenSuiteRun {
  readonly #folder: string;
  readonly #tail: JournalTail;
  #finder: CaseFinder | undefined;
  #plan: SuitePlan | undefined;
  #owner: SuitePlan['owner'] | undefined;
  #startedAtMs: number | undefined;
  readonly #judged = new Map<string, Finished>();
  readonly #underWay = new Map<string, Waiting>();
  #report: { readonly report: OpenedReport; readonly lines: number; readonly isAlive: boolean } | undefined;

  private constructor(folder: string, tail: JournalTail) {
    this.#folder = folder;
    this.#tail = tail;
  }

  static open(folder: string): OpenSuiteRun {
    const tail = JournalTail.open(folder, SUITE_LINE_BYTES_MAX);
    if (tail === 'missing') throw new Fault('unreadable_run', 'The run has neither a journal nor a seal.');
    if (tail === 'foreign') throw foreign();
    return new OpenSuiteRun(folder, tail);
  }

  /** Whether the folder still contains the journal that was opened. */
  get isCurrent(): boolean {
    return this.#tail.isIn(this.#folder);
  }

  /** The report so far. */
  async report(): Promise<OpenedReport> {
    for (let lines = this.#tail.read(READ_BYTES); lines.length > 0; lines = this.#tail.read(READ_BYTES))
      for (const { number, value } of lines) await this.#take(value as SuiteLine, number);
    if (this.#tail.isForeign) throw foreign();
    const plan = this.#plan;
    if (!plan) throw new Fault('run_not_begun', 'The run has not started yet. Try again in a moment.');
    const isAlive = this.#owner !== undefined && isOwnerAlive({ plan: { owner: this.#owner } });
    if (this.#report?.lines !== this.#tail.lines || this.#report.isAlive !== isAlive)
      this.#report = { report: this.#opened(plan, isAlive), lines: this.#tail.lines, isAlive };
    return this.#report.report;
  }

  close(): void {
    this.#tail.close();
    this.#finder?.close();
  }

  async #take(line: SuiteLine, number: number): Promise<void> {
    switch (line?.is) {
      case 'planned':
        this.#plan ??= line.plan;
        this.#owner = line.plan.owner;
        return;
      case 'begun':
        this.#owner = line.owner;
        this.#startedAtMs ??= line.atMs;
        return;
      case 'left':
        this.#owner = undefined;
        return;
      case 'sent':
        this.#waiting(line.id).sent = { attempt: line.attempt, started_at: instantText(line.atMs), run_id: null };
        return;
      case 'running': {
        const waiting = this.#waiting(line.id);
        if (waiting.sent?.attempt === line.attempt) waiting.sent = { ...waiting.sent, run_id: line.runId };
        return;
      }
      case 'failed': {
        const waiting = this.#waiting(line.id);
        waiting.attempts.push(line.attempt);
        waiting.sent = null;
        return;
      }
      case 'case':
        this.#underWay.delete(line.id);
        this.#judged.set(line.id, { number, ...(await this.#judge(line)) });
        return;
      default:
    }
  }

  #waiting(id: string): Waiting {
    const known = this.#underWay.get(id);
    if (known) return known;
    const waiting: Waiting = { attempts: [], sent: null };
    this.#underWay.set(id, waiting);
    return waiting;
  }

  async #judge({ id, artifact }: Extract<SuiteLine, { is: 'case' }>): Promise<Omit<Finished, 'number'>> {
    const asked: SuiteCase = this.#asked(id) ?? { schema_version: 'suite-case.v1', id, input: { user: '' } };
    const { title, suite, metadata } = asked;
    const name = { id, ...(title !== undefined && { title }), ...(suite && { suite }), ...(metadata && { metadata }) };
    const { script, ...expected } = asked.expected ?? {};
    const judged = await judgeCase({ ...asked, expected }, artifact, {
      folder: this.#folder,
      runCheck: () => Promise.resolve({ trouble: 'Check scripts run after the last case.' }),
      effort: new Effort({ each: STEPS_MAX }),
      judgeApart: undefined,
    });
    if (!script) return { judged, name };
    // The check script decides too, and it has not run.
    const open = { name: 'script', status: 'not_judged', message: 'Runs after the last case.', at: null } as const;
    const rest = judged.verdict === 'pass' ? [] : judged.assertions;
    return { judged: { ...judged, assertions: [...rest, open] }, name };
  }

  #asked(id: string): SuiteCase | undefined {
    try {
      this.#finder ??= new CaseFinder(this.#folder);
      return this.#finder.find(id);
    } catch {
      // The case cannot be read, so it is shown without its question.
      return undefined;
    }
  }

  #opened(plan: SuitePlan, isAlive: boolean): OpenedReport {
    const { request } = plan;
    let assets: ReadonlyMap<string, string> = new Map();
    const underWay: CaseUnderWay[] = [...this.#underWay].map(([case_id, { attempts, sent }]) => ({
      case_id,
      case: this.#asked(case_id),
      attempts: [...attempts],
      sent,
    }));
    return new OpenedReport(
      openRunPage({
        run: request,
        target: targetName(request.target),
        startedAt: this.#startedAtMs === undefined ? null : instantText(this.#startedAtMs),
        isAlive,
        total: request.cases.count,
        judged: [...this.#judged.values()].map(({ judged }) => judged),
        underWay,
        cases: () => [...this.#judged.values()].map(({ name }) => name),
        inputs: () => [...this.#judged.keys()].flatMap(id => this.#asked(id) ?? []),
        pairs: id => {
          const line = this.#line(id);
          assets = new Map(line?.assets.map(({ href, sha256 }) => [href, sha256]));
          return { [request.version]: line?.artifact, case: this.#asked(id) };
        },
        assetText: (_side, href) => this.#asset(href, assets.get(href)),
      }),
    );
  }

  /** Reads the line of a finished case again. */
  #line(id: string): { readonly artifact: CaseArtifact; readonly assets: readonly Asset[] } | undefined {
    const number = this.#judged.get(id)?.number;
    if (number === undefined) return undefined;
    const [found] = this.#tail.again(number - 1, number);
    const line = found?.value as SuiteLine | undefined;
    return line?.is === 'case' ? line : undefined;
  }

  #asset(href: string, sha256: string | undefined): string | undefined {
    const bytes = sha256 === undefined ? undefined : readBelow(this.#folder, href, ASSET_BYTES_MAX);
    return bytes && bytesHash(bytes) === sha256 ? bytes.toString() : undefined;
  }
}

type Waiting = { -readonly [Key in 'attempts' | 'sent']: CaseUnderWay[Key] };
type Asset = Extract<SuiteLine, { is: 'case' }>['assets'][number];

interface Finished {
  /** The number of its line in the journal. */
  readonly number: number;
  readonly judged: JudgedCase;
  readonly name: Pick<SuiteCase, 'id' | 'title' | 'suite' | 'metadata'>;
}

function foreign(): Fault {
  return new Fault('foreign_run', 'Another user or machine started this run, so the server does not read its journal.');
}

const READ_BYTES = 4 * 1024 ** 2;
/** About 100 ms at worst, in a thread of its own. */
const STEPS_MAX = 1_000_000;
const ASSET_BYTES_MAX = 64 * 1024;

import { lstatSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { makeFolders, modesIn } from '../../base/private.ts';
import type { Comparison } from '../../contracts/comparison/index.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../../evidence/suite/suite-folder.ts';
import type { ProjectFile } from '../../run/project/project-file.ts';
import type { AskAgainOptions } from '../ask-again.ts';
import { type Accepted, acceptBaseline } from '../baseline.ts';
import { type Compared, compareRuns } from '../compare.ts';
import type { Format } from '../formats.ts';
import { gateFor } from '../gate-settings.ts';
import { namedTarget } from '../named-target.ts';
import { prepareReports, reportSubject, type Subject, writeReports } from '../report.ts';
import { runSuite, type RunSuiteOptions, type ShownSuiteResult } from '../run-suite.ts';
import { suiteExitCode } from '../suite-exit.ts';
import { type MergedSuites, packParts } from './part-tests.ts';
import type { SuiteTest } from './suite-test.ts';
import type { TestOptions } from './test-project.ts';

/** The result of one suite. */
export interface SuiteTested {
  readonly name: string;
  /** The name of the target that answers. */
  readonly target: string;
  readonly exitCode: 0 | 1 | 2 | 3;
  /** Null if the suite could not run. */
  readonly run: ShownSuiteResult | null;
  /** Null without a baseline. Limits alone then decide. */
  readonly comparison: Comparison | null;
  /** What the reports show; null if there is nothing to show. */
  readonly subject: Subject | null;
  readonly reports: Readonly<Partial<Record<Format, string>>>;
  readonly accepted: Accepted | null;
  /** The packs of the part that ran, for `proctor test --parts`; empty for a whole suite. */
  readonly parts: readonly string[];
  /** Why the suite could not run or be compared; null if it was. */
  readonly fault: { readonly code: string; readonly message: string } | null;
}

/** Runs one suite, compares it with its baseline and writes its reports. A merged suite has run already. */
export async function testSuite(
  suite: SuiteTest,
  file: ProjectFile,
  options: TestOptions,
  merged?: MergedSuites,
): Promise<SuiteTested> {
  const nothing = {
    name: suite.name,
    target: suite.target,
    run: null,
    comparison: null,
    subject: null,
    reports: {},
    accepted: null,
    parts: [],
  };
  const ask = async (side: 'baseline' | 'new'): Promise<ShownSuiteResult> =>
    merged ? merged.result(suite, side) : runSuite(orderFor(suite, file, options, side));
  let run: ShownSuiteResult | null = null;
  try {
    if (!options.shard) prepareReports(folderFor(suite, file, options));
    run = await ask('new');
    if (run.runs.some(({ isOpen, judged }) => isOpen || judged === undefined))
      return { ...nothing, run, exitCode: 1, fault: null };
    if (options.shard) {
      const results = suite.baselineTarget === undefined ? [run] : [run, await ask('baseline')];
      if (results.some(({ runs }) => runs.some(({ isOpen }) => isOpen)))
        return { ...nothing, run, exitCode: 1, fault: null };
      const parts = await packParts(suite, results, options.shard, file, options);
      return { ...nothing, run, parts, exitCode: 0, fault: null };
    }
    const baseline = await baselineFor(suite, file, ask);
    return { ...nothing, ...(await decided(suite, file, options, run, baseline)), run, fault: null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...nothing, run, ...faultOf(error) };
  }
}

/** A missing part is missing evidence. Any other fault means that the suite could not run. */
export function faultOf({ code, message }: Fault): Pick<SuiteTested, 'exitCode' | 'fault'> {
  return { exitCode: code === 'parts_missing' ? 3 : 2, fault: { code, message } };
}

type Decided = Omit<SuiteTested, 'name' | 'target' | 'run' | 'parts' | 'fault'>;

async function decided(
  suite: SuiteTest,
  file: ProjectFile,
  options: TestOptions,
  run: ShownSuiteResult,
  baseline: string | undefined,
): Promise<Decided> {
  const compared = baseline === undefined ? undefined : await compare(suite, file, options, run, baseline);
  const { subject, reports } = compared
    ? { subject: compared.subject, reports: copied(compared.files, folderFor(suite, file, options)) }
    : await reported(suite, file, options, run);
  const limits = suiteExitCode(run);
  const accepted = options.accept && limits === 0 ? await accept(suite, file, options, run) : null;
  const comparison = compared?.comparison ?? null;
  return {
    exitCode: options.accept || !comparison ? limits : comparison.exit_code,
    comparison,
    subject,
    reports,
    accepted,
  };
}

function orderFor(
  suite: SuiteTest,
  { dir, name }: ProjectFile,
  options: TestOptions,
  as: 'baseline' | 'new',
): RunSuiteOptions {
  const { environment, shard, signingKey, signal, tracer, onProgress, onVerdict, onFolder, onWarning } = options;
  return {
    ...suite.options,
    ...defined({ environment, shard, signingKey, signal, tracer, onProgress, onVerdict, onFolder, onWarning }),
    cases: suite.cases,
    as,
    suite: suite.name,
    target: as === 'new' ? suite.target : (suite.baselineTarget as string),
    project: name,
    secrets: secretsFor(suite, options),
    // Limits apply to the candidate only.
    ...(as === 'new' && defined({ gate: suite.gate.gate, limits: suite.gate.limits })),
    cwd: dir,
  };
}

function secretsFor({ name, secrets }: SuiteTest, { environment = {} }: TestOptions): Record<string, string> {
  return Object.fromEntries(
    secrets.map(variable => {
      const value = environment[variable];
      if (value === undefined || value === '')
        throw new Fault(
          'usage',
          `The suite ${printable(name)} needs the environment variable ${printable(variable)}, which is not set.`,
        );
      return [variable, value];
    }),
  );
}

/** The run of the other side, or the accepted baseline; undefined if there is none yet. */
async function baselineFor(
  suite: SuiteTest,
  file: ProjectFile,
  ask: (side: 'baseline') => Promise<ShownSuiteResult>,
): Promise<string | undefined> {
  if (suite.baselineTarget === undefined)
    return isThere(path.resolve(file.dir, suite.baseline)) ? suite.baseline : undefined;
  const { runs } = await ask('baseline');
  return runs[0]?.place.folder;
}

/** A baseline that cannot be read is not a missing one: the test would pass without a comparison. */
function isThere(baseline: string): boolean {
  try {
    // A link that leads nowhere is there, but has no status.
    return lstatSync(baseline, { throwIfNoEntry: false }) !== undefined && statSync(baseline).size >= 0;
  } catch (cause) {
    const name = printable(path.basename(baseline));
    throw new Fault(
      'baseline_unreadable',
      `Cannot read the baseline ${name}. Check its folder, and where it links to.`,
      {
        cause,
      },
    );
  }
}

async function compare(
  suite: SuiteTest,
  { dir, name }: ProjectFile,
  options: TestOptions,
  run: ShownSuiteResult,
  baseline: string,
): Promise<Compared & { readonly subject: Subject }> {
  const { signingKey, signal } = options;
  // A limit that is not met decides alone, whatever more trials would show.
  const isOpen = !options.accept && suiteExitCode(run) === 0;
  const isAgain = isOpen && gateFor(suite.gate, dir).mode !== 'strict' && !isReplayed(run);
  const compared = await compareRuns({
    ...suite.gate,
    baseline,
    candidate: run.runs[0]?.place.folder as string,
    formats: suite.formats.filter(format => format !== 'terminal'),
    cases: suite.cases,
    ...defined({ signingKey, signal }),
    ...(isAgain && { again: againFor(suite, dir, name, options) }),
    cwd: dir,
  });
  const { subject } = await reportSubject(compared.folder, dir, { signingKey, signal, isChecked: true });
  return { ...compared, subject };
}

/** A replayed model gives the same answers again. */
function isReplayed({ runs }: ShownSuiteResult): boolean {
  const target = runs[0] && readSuiteFolder(runs[0].place.folder).request.target;
  return target?.kind === 'agent' && target.model_mode === 'replay';
}

/** The targets for suspect cases. A script or an agent is identified by its files. */
function againFor(suite: SuiteTest, dir: string, project: string, options: TestOptions): AskAgainOptions {
  const { environment = {}, onRound, onWarning, tracer } = options;
  const filesOf = (target: string | undefined): Partial<RunSuiteOptions> => {
    if (target === undefined) return {};
    const named = namedTarget(target, dir, project);
    return 'ran' in named ? named.ran : { target };
  };
  const { target, script, policy, dir: folder, base, mounts, checks } = filesOf(suite.target);
  const { target: baselineTarget, script: baselineScript } = filesOf(suite.baselineTarget);
  const work = { base, mounts, checks };
  const files = { target, script, policy, dir: folder, baselineTarget, baselineScript, ...work };
  return {
    ...defined({ ...files, onRound, onWarning, tracer }),
    project,
    environment,
    variable: name => environment[name],
  };
}

async function reported(suite: SuiteTest, file: ProjectFile, options: TestOptions, run: ShownSuiteResult) {
  const { signingKey, signal } = options;
  const { cases } = suite;
  const { subject } = await reportSubject(worstRun(run).place.folder, file.dir, {
    cases,
    signingKey,
    signal,
    isChecked: true,
  });
  const shown = withChecks(subject, run);
  const formats = suite.formats.filter(format => format !== 'terminal');
  return { subject: shown, reports: writeReports(folderFor(suite, file, options), shown, formats) };
}

/** Limits cover all repetitions, so only the last one has them. The repetition to show may be another. */
function withChecks(subject: Subject, { checks }: ShownSuiteResult): Subject {
  if ('comparison' in subject || !checks || checks.length === 0) return subject;
  const { evaluation } = subject;
  return { ...subject, evaluation: { ...evaluation, gate: { ...evaluation.gate, checks: [...checks] } } };
}

/** The repetition to show: the one with the most cases that did not pass. */
function worstRun({ runs }: ShownSuiteResult): ShownSuiteResult['runs'][number] {
  const [first, ...others] = runs as [ShownSuiteResult['runs'][number], ...ShownSuiteResult['runs']];
  const missed = ({ judged }: typeof first): number => (judged ? judged.failed + judged.errors : 0);
  return others.reduce((worst, run) => (missed(run) > missed(worst) ? run : worst), first);
}

function folderFor({ name }: SuiteTest, { dir }: ProjectFile, { out, cwd = process.cwd() }: TestOptions): string {
  const within = out === undefined ? path.join(homeFrom(dir), 'reports', 'test') : path.resolve(cwd, out);
  return path.join(within, name);
}

/** Copies the reports, because the originals are sealed with the comparison. */
function copied(files: Compared['files'], folder: string): SuiteTested['reports'] {
  makeFolders(folder, modesIn(folder).folder);
  const entries = Object.entries(files).map(([format, file]) => {
    const copy = path.join(folder, path.basename(file));
    writeAtomic(copy, readFileSync(file), modesIn(folder).file);
    return [format, copy];
  });
  return Object.fromEntries(entries) as SuiteTested['reports'];
}

async function accept(
  suite: SuiteTest,
  { dir }: ProjectFile,
  { signingKey }: TestOptions,
  run: ShownSuiteResult,
): Promise<Accepted> {
  const file = path.resolve(dir, suite.baseline);
  makeFolders(path.dirname(file), modesIn(path.dirname(file)).folder);
  return acceptBaseline(run.runs[0]?.place.folder as string, file, dir, defined({ signingKey }));
}

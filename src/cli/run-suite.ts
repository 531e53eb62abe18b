import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable, printableJson } from '../base/printable.ts';
import type { Named } from '../tool/adopt-suite.ts';
import { resumeSuite } from '../tool/resume-suite.ts';
import { runSuite, type RunSuiteOptions, type SuiteRunResult } from '../tool/run-suite.ts';
import { closeLauncher } from '../tool/run-script.ts';
import { headerOf } from './headers.ts';
import { interruptions } from './interruptions.ts';
import { stayLean } from './memory.ts';
import { stderr, stdout } from './out.ts';
import { type Paint, paintFor } from './paint.ts';
import { ProgressLine, watchedColumns } from './progress.ts';
import { sealedText } from './run-text.ts';
import { exitOfStopped } from './refusal.ts';
import { wordFor } from './show-suite.ts';
import { counted, durationText } from './units.ts';
import { namedKey, variables } from './variables.ts';

type JudgedRun = SuiteRunResult['runs'][number];

export interface RunSuiteFlags {
  readonly baseUrl?: string;
  readonly script?: string;
  readonly agent?: string;
  readonly policy?: string;
  readonly dir?: string;
  readonly model?: string;
  readonly maxTurns?: number;
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly prices?: string;
  readonly modelMode?: 'live' | 'record' | 'replay';
  readonly recordings?: string;
  readonly allowUntestedVersion?: true;
  readonly as?: 'baseline' | 'new';
  readonly out?: string;
  readonly runId?: string;
  readonly only?: readonly string[];
  readonly concurrency?: number;
  readonly timeout?: number;
  readonly idleTimeout?: number;
  readonly retries?: number;
  readonly repeat?: number;
  readonly resume?: string;
  readonly header?: readonly string[];
  readonly secret?: readonly string[];
  readonly followRedirects?: true;
  readonly keepCredentials?: true;
  readonly provenance?: readonly string[];
  readonly maxBody?: number;
  readonly profile?: string;
  readonly sandbox?: 'none' | 'process';
  readonly isolation?: 'strict' | 'standard' | 'none';
  readonly memory?: number;
  readonly cpus?: number;
  readonly json?: true;
}

export async function runSuiteCommand(cases: string | undefined, flags: RunSuiteFlags): Promise<number> {
  stayLean();
  const paint = paintFor(2);
  const interrupt = interruptions();
  const progress = new ProgressLine(stderr.write, watchedColumns(process.stderr, process.env));
  try {
    const watched = {
      ...namedKey(),
      environment: process.env,
      signal: interrupt.signal,
      onProgress: progress.show,
      onFolder: ({ id }: { readonly id: string }) => progress.begin(id),
      onWarning: (sentence: string) => {
        progress.end();
        stderr.write(`${paint('note', 'warning')}: ${sentence}\n`);
      },
    };
    const result =
      flags.resume === undefined
        ? await runSuite({ ...optionsOf(cases, flags), ...watched })
        : await resumeSuite(flags.resume, {
            ...namedAgain(cases, flags),
            ...watched,
            variable: name => process.env[name],
          });
    progress.end();
    if (flags.json) stdout.write(`${printableJson(asJson(result, interrupt.name()))}\n`);
    else stderr.write(summary(result, paint));
    const isWhole = result.runs.every(({ failed, isOpen }) => failed === 0 && !isOpen);
    return interrupt.exit() ?? (isWhole ? 0 : 1);
  } catch (error) {
    progress.end();
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

/** What may be named for a run that was begun elsewhere. For one that was begun here, the tool refuses it. */
function namedAgain(cases: string | undefined, flags: RunSuiteFlags): Named {
  const other = Object.keys(flags).find(key => !NAMED_AGAIN.has(key));
  if (cases !== undefined || other !== undefined) {
    throw new Fault(
      'usage',
      'A run that is resumed goes on as it began: --resume takes no cases, and no flag but --json, and --base-url where its address has a query. A run that was not started here also takes its target and variables.',
    );
  }
  return targetOf(flags);
}

const NAMED_AGAIN: ReadonlySet<string> = new Set([
  'resume',
  'json',
  'baseUrl',
  'script',
  'agent',
  'policy',
  'dir',
  'model',
  'maxTurns',
  'maxRequests',
  'maxTokens',
  'maxCost',
  'prices',
  'modelMode',
  'recordings',
  'allowUntestedVersion',
  'header',
  'secret',
  'followRedirects',
  'profile',
  'sandbox',
  'isolation',
  'memory',
]);

/** What is asked, with which variables, and what holds it. */
function targetOf(flags: RunSuiteFlags): Named {
  const bounds = {
    profile: flags.profile,
    sandbox: flags.sandbox,
    isolation: flags.isolation,
    memoryBytes: flags.memory,
    cpus: flags.cpus,
  };
  const given = {
    baseUrl: flags.baseUrl,
    script: flags.script,
    agent: flags.agent,
    policy: flags.policy,
    dir: flags.dir,
    model: flags.model,
    maxTurns: flags.maxTurns,
    maxRequests: flags.maxRequests,
    maxTokens: flags.maxTokens,
    maxCostUsd: flags.maxCost,
    prices: flags.prices,
    modelMode: flags.modelMode,
    recordings: flags.recordings,
    allowUntestedVersion: flags.allowUntestedVersion,
    redirects: flags.followRedirects,
    bounds: defined(bounds),
  };
  return {
    ...defined(given),
    headers: (flags.header ?? []).map(headerOf),
    secrets: variables(flags.secret ?? [], false),
  };
}

function optionsOf(cases: string | undefined, flags: RunSuiteFlags): RunSuiteOptions {
  if (cases === undefined) throw new Fault('usage', 'Say which cases: proctor run suite cases.yaml …');
  if (flags.as === undefined) throw new Fault('usage', 'Say which side it is: --as baseline or --as new.');
  const given = {
    out: flags.out,
    runId: flags.runId,
    only: flags.only?.flatMap(words => words.split(',')).map(word => word.trim()),
    concurrency: flags.concurrency,
    timeoutMs: flags.timeout,
    idleMs: flags.idleTimeout,
    retries: flags.retries,
    repeat: flags.repeat,
    bodyBytesMax: flags.maxBody,
    keepCredentials: flags.keepCredentials,
    provenance: flags.provenance && Object.fromEntries(flags.provenance.map(pairIn)),
  };
  return { ...targetOf(flags), ...defined(given), cases, as: flags.as };
}

/** `model=NAME`; the value may hold further signs of equality. */
function pairIn(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function defined(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function asJson({ version, runs, keyId }: SuiteRunResult, stoppedBy: string | undefined): object {
  const [first] = runs;
  const isStopped = runs.some(({ isOpen, judged }) => isOpen || judged === undefined);
  return {
    kind: 'suite',
    run_id: first?.place.id ?? null,
    version,
    folder: first ? path.relative(process.cwd(), first.place.folder) : null,
    ending: isStopped
      ? { how: 'killed', by: 'cancel', signal: stoppedBy }
      : { how: 'exited', code: runs.every(({ failed }) => failed === 0) ? 0 : 1 },
    status: isStopped ? 'interrupted' : 'completed',
    key_id: keyId,
    runs: runs.map(({ place, total, ok, failed, gaveUp, isOpen, durationMs, judged, notPassed }) => ({
      run_id: place.id,
      folder: path.relative(process.cwd(), place.folder),
      cases_total: total,
      cases_completed: ok,
      cases_failed: failed,
      gave_up: gaveUp,
      finished: !isOpen,
      duration_ms: durationMs,
      judged: judged ?? null,
      not_passed: notPassed,
    })),
  };
}

function summary({ version, runs, keyId }: SuiteRunResult, paint: Paint): string {
  const lines = runs.flatMap(run => {
    const { place, total, ok, failed, gaveUp, troubles, isOpen, durationMs } = run;
    const counts = `${ok} of ${counted(total, 'case')}${failed > 0 ? `, ${failed} without an answer` : ''}`;
    return [
      `${headline(run, paint)}  ${version}  ${counts}, ${durationText(durationMs)}`,
      ...(gaveUp ? ['  The target was silent for so long that it was given up; cases that were not sent say so.'] : []),
      ...troubles
        .slice(0, 3)
        .map(trouble => `  ${paint('bad', trouble.class.padEnd(9))} ${trouble.count} × ${printable(trouble.message)}`),
      ...judgedLines(run, paint),
      isOpen
        ? `  resume    proctor run suite --resume ${wordFor(place)}`
        : `  evidence  ${printable(path.relative(process.cwd(), place.folder))}`,
      ...(isOpen
        ? []
        : [
            paint(
              'faint',
              `            ${sealedText(keyId)} · proctor show ${wordFor(place)} · proctor compare · proctor report`,
            ),
          ]),
    ];
  });
  return `${lines.join('\n')}\n`;
}

/** That every case was answered is not yet good news. */
function headline({ isOpen, failed, notPassed }: JudgedRun, paint: Paint): string {
  if (isOpen) return `${paint('note', '…')} ${paint('strong', 'interrupted')}`;
  if (failed > 0) return `${paint('bad', '✗')} ${paint('strong', 'not all answered')}`;
  if (notPassed.length > 0) return `${paint('note', '!')} ${paint('strong', 'all answered, not all passed')}`;
  return `${paint('good', '✓')} ${paint('strong', 'all answered')}`;
}

function judgedLines({ place, isOpen, judged, notPassed }: JudgedRun, paint: Paint): string[] {
  if (!judged) return isOpen ? [] : [`  judged    not yet: proctor report ${wordFor(place)} does it`];
  const { total, passed, failed, errors, unjudged } = judged;
  const parts = [
    `${passed} of ${total} passed`,
    ...(failed > 0 ? [paint('bad', `${failed} failed`)] : []),
    ...(errors > 0 ? [paint('bad', `${errors} without a verdict`)] : []),
  ];
  const proof = unjudged > 0 ? `; ${unjudged} expect nothing that can be judged` : '';
  const more = failed + errors - notPassed.length;
  return [
    `  judged    ${parts.join(', ')}${proof}`,
    ...(notPassed.length > 0
      ? [`  failing   ${notPassed.map(printable).join(', ')}${more > 0 ? ` and ${more} more` : ''}`]
      : []),
  ];
}

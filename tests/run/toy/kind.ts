/** A kind of run that runs one command and writes one document. Everything about it is in this file. */
import path from 'node:path';
import { canonicalize } from '../../../src/base/canonical.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { newRunId } from '../../../src/base/ids.ts';
import { readRegular } from '../../../src/base/regular.ts';
import type { Ending } from '../../../src/contracts/ending.ts';
import type { RecoveredNote } from '../../../src/contracts/script-outcome/shape.ts';
import type { Document } from '../../../src/evidence/document.ts';
import type { JournaledKind, JournaledPlan } from '../../../src/evidence/recovery/kind.ts';
import { stepTermination } from '../../../src/evidence/step/endings.ts';
import { captureLeft, recoveredNote } from '../../../src/evidence/recovery/recovery-parts.ts';
import { stepDocuments } from '../../../src/evidence/step/step-documents.ts';
import { PATH_FOLDERS } from '../../../src/execute/host/programs.ts';
import type { Job } from '../../../src/execute/job/job.ts';
import { effectiveLimits } from '../../../src/policy/effective-limits.ts';
import { capsFrom } from '../../../src/policy/caps.ts';
import type { JudgedStep, RunContext } from '../../../src/run/pipeline/journaled-run.ts';
import { runJournaled } from '../../../src/run/pipeline/pipeline.ts';
import { limitsOf, offersOf, ownerHere } from '../../../src/run/pipeline/runner-plan.ts';
import { refuseLostSandbox, type WatchedStreams, watchStreams } from '../../../src/run/pipeline/steps.ts';

interface ToyPlan extends JournaledPlan {
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

interface ToyReading {
  readonly verdict: 'good' | 'bad';
}

interface ToyDocument {
  readonly run_id: string;
  readonly verdict: ToyReading['verdict'] | 'interrupted';
  readonly ending: Ending['how'];
  readonly started_at_ms: number;
  readonly completed_at_ms: number;
  readonly recovered?: RecoveredNote;
}

const STEP_FOLDER = 'evidence/steps/toy';
const STDOUT = `${STEP_FOLDER}/stdout.txt`;
const STDERR = `${STEP_FOLDER}/stderr.txt`;
const TOY = 'toy.json';

export const toyKind: JournaledKind<ToyPlan, ToyReading> = {
  name: 'toy',
  sealedAs: 'script',
  stepFolder: STEP_FOLDER,
  contracts: new Map(),
  rebuild(left) {
    const { capture, streams, completedAtMs } = captureLeft(left, STEP_FOLDER, left.plan.timeoutMs);
    const recovered = recoveredNote(left, left.read ? [] : ['output']);
    const documents = documentsOf(left.plan, 'interrupted', { capture, streams }, completedAtMs, recovered);
    return { documents, discarded: [] };
  },
  summarize(folder) {
    const toy = toyIn(folder);
    return {
      runId: toy?.run_id,
      startedAt: toy && new Date(toy.started_at_ms).toISOString(),
      status: toy?.verdict,
      subject: toy && `a toy that ${toy.ending}`,
      durationMs: toy && toy.completed_at_ms - toy.started_at_ms,
      recovered: toy?.recovered,
    };
  },
};

/** Called before each step. It does not return in a process that is to be killed there. */
export type AtStep = (step: 'prepare' | 'plan' | 'begin' | 'watch' | 'judge' | 'documents') => void;

interface ToyTypes {
  readonly plan: ToyPlan;
  readonly made: { readonly job: Job };
  readonly seen: WatchedStreams;
  readonly judged: JudgedStep<ToyReading>;
}

export function runToy(command: readonly string[], context: RunContext, at: AtStep = () => undefined) {
  const startedAtMs = systemClock.now();
  const id = newRunId('toy', systemClock);
  return runJournaled<ToyTypes>(context, machine => {
    const effective = effectiveLimits({}, offersOf(machine));
    return {
      kind: toyKind,
      id,
      prepare(stage, folder) {
        at('prepare');
        const job: Job = {
          id,
          backend: effective.sandbox,
          argv: command,
          env: { PATH: PATH_FOLDERS.join(':') },
          stage,
          staged: ['input'],
          network: effective.network,
          limits: limitsOf(effective, capsFrom({})),
          secrets: [],
          keepIn: path.join(folder, 'evidence', 'internal'),
          live: context.onOutput !== undefined,
        };
        return { job };
      },
      plan() {
        at('plan');
        const { timeoutMs } = effective;
        return { request: { run_id: id, kind: 'toy' }, command, timeoutMs, startedAtMs, owner: ownerHere() };
      },
      begin: () => at('begin'),
      watch: (run, show) =>
        watchStreams(run, (stream, bytes) => {
          at('watch');
          return show?.(stream, bytes);
        }),
      async judge(run, { capture }) {
        at('judge');
        refuseLostSandbox(run, capture);
        const { ending } = capture;
        return { reading: { verdict: ending.how === 'exited' && ending.code === 0 ? 'good' : 'bad' }, stored: [] };
      },
      documents({ plan, judged, seen, completedAtMs }) {
        at('documents');
        return documentsOf(plan, judged.reading.verdict, seen, completedAtMs);
      },
    };
  });
}

function documentsOf(
  { request, startedAtMs }: ToyPlan,
  verdict: ToyDocument['verdict'],
  { capture, streams }: WatchedStreams,
  completedAtMs: number,
  recovered?: RecoveredNote,
): Document[] {
  const toy: ToyDocument = {
    run_id: request.run_id,
    verdict,
    ending: capture.ending.how,
    started_at_ms: startedAtMs,
    completed_at_ms: completedAtMs,
    ...(recovered && { recovered }),
  };
  const text = canonicalize(toy);
  return [
    [TOY, text],
    ...stepDocuments({
      runId: request.run_id,
      step: 'toy',
      termination: stepTermination(capture.ending, verdict === 'good'),
      startedAtMs,
      endedAtMs: completedAtMs,
      runner: 'A toy has no runner record.',
      artifacts: [
        ['validation_report', TOY, 'application/json', text],
        ['validation_stdout', STDOUT, 'text/plain', streams.stdout],
        ['validation_stderr', STDERR, 'text/plain', streams.stderr],
      ],
      required: ['validation_report'],
      notes: [],
    }),
    [STDOUT, streams.stdout],
    [STDERR, streams.stderr],
  ];
}

export function toyIn(folder: string): ToyDocument | undefined {
  const bytes = readRegular(path.join(folder, TOY), TOY_BYTES_MAX);
  return bytes && (JSON.parse(bytes.toString()) as ToyDocument);
}

const TOY_BYTES_MAX = 10_000;

import { headerSecrets } from '../base/secret-parts.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import type { SuiteAnswer } from '../run/suite/suite.ts';
import type { Target } from '../run/suite/target.ts';
import { tracedTarget } from '../run/suite/traced-target.ts';
import { OWN } from '../trace/names.ts';
import type { Tracer } from '../trace/tracer.ts';
import { spanOfRun } from './traced-run.ts';
import type { RunSuiteOptions } from './run-suite.ts';

export interface TracedSuiteResult {
  readonly answer: SuiteAnswer;
  readonly evaluation: Evaluation | undefined;
}

/** Runs a suite in a span, with a span for every attempt below it. */
export async function tracedSuite<Result extends TracedSuiteResult>(
  tracer: Tracer,
  { request }: SuitePlan,
  { headers = [], secrets = {} }: Pick<RunSuiteOptions, 'headers' | 'secrets'>,
  act: (traced: (target: Target) => Target) => Promise<Result>,
): Promise<Result> {
  tracer.protect([...headers.flatMap(({ name, value }) => headerSecrets(name, value)), ...Object.values(secrets)]);
  return spanOfRun(
    tracer,
    'suite',
    span => {
      span.set({ [OWN.runId]: request.run_id, [OWN.side]: request.version });
      const { run_id: runId, target: asked } = request;
      const parent = span.context;
      return act(target => tracedTarget(target, { tracer, span: 'proctor.attempt', runId, target: asked, parent }));
    },
    ({ answer, evaluation }) => ({
      attributes: {
        [OWN.cases]: answer.total,
        [OWN.casesOk]: answer.ok,
        [OWN.casesFailed]: answer.failed,
        [OWN.casesPassed]: evaluation?.summary.passed,
      },
      errorType: answer.isOpen ? 'interrupted' : answer.gaveUp ? 'gave_up' : undefined,
    }),
  );
}

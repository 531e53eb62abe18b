import { Fault } from '../../base/fault.ts';
import { SealedFolder } from '../../evidence/run-folder/sealed-folder.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../../evidence/suite/suite-folder.ts';
import { judgedRun, shownEvaluation } from '../judged.ts';
import { checkerIfUsable } from '../keys.ts';
import { comparisonSubject } from '../report.ts';
import { pageOf } from '../report-html.ts';
import { damageIn } from '../shown-run.ts';
import { OpenedReport } from './opened-report.ts';

/** Opens the report on a sealed suite run. Starts no programs. */
export async function openRunReport(folder: string, cwd: string): Promise<OpenedReport> {
  const { run, request } = readSuiteFolder(folder);
  const damage = await damageIn([folder]);
  const evaluation = await evaluationOf(folder, run.run_id, cwd, damage.length > 0);
  return new OpenedReport(pageOf({ run, evaluation, repetition: request.repetition, folder, damage, cwd }));
}

/** The trusted evaluation, else a new one. Check scripts are programs, so a run with them needs a trusted one. */
async function evaluationOf(folder: string, id: string, cwd: string, isDamaged: boolean) {
  const key = checkerIfUsable(cwd);
  const { evaluation } = await shownEvaluation(folder, id, key);
  if (evaluation) return evaluation;
  if (isDamaged || SealedFolder.open(folder)?.hasChecks !== false) {
    const why = isDamaged ? 'its files were changed' : 'judging it starts check scripts';
    throw new Fault('no_verdict', `The run has no trusted evaluation, and ${why}. Run proctor show for details.`);
  }
  return (await judgedRun(folder, { home: homeFrom(cwd), key }, 'as sealed')).evaluation;
}

/** Opens the report on a sealed comparison. */
export async function openComparisonReport(folder: string, cwd: string): Promise<OpenedReport> {
  const key = checkerIfUsable(cwd);
  const found = comparisonSubject(folder, homeFrom(cwd), key, { cwd, baseline: undefined });
  const damage = await damageIn([...found.folders.baseline, ...found.folders.new]);
  return new OpenedReport(pageOf({ ...found, damage, cwd }));
}

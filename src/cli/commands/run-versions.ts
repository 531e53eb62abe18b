import { printable, printableJson } from '../../base/printable.ts';
import { runVersions, type RunVersionsOptions, type VersionsResult } from '../../verbs/run-versions.ts';
import type { interruptions } from '../options/interruptions.ts';
import { printMatrix } from '../text/matrix-output.ts';
import { stderr, stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { suiteRunJson, suiteRunText } from '../text/run-suite-text.ts';
import { wordFor } from '../text/show-suite.ts';

/** `run suite` with several agents or models. */
export async function runVersionsCommand(
  options: RunVersionsOptions,
  {
    json,
    interrupt,
    endProgress,
  }: { json: boolean; interrupt: ReturnType<typeof interruptions>; endProgress: () => void },
): Promise<number> {
  const paint = paintFor(2);
  const result = await runVersions({
    ...options,
    onVersion: name => {
      if (!json) stderr.write(`${paint('strong', printable(name))}\n`);
    },
    onVersionRun: ({ result: ran }) => {
      endProgress();
      if (!json) stderr.write(suiteRunText(ran, paint));
    },
  });
  if (!result.compared) {
    if (json) stdout.write(`${printableJson(interruptedJson(result, interrupt.name()))}\n`);
    else stderr.write(interruptedText(result, paint));
    return interrupt.exit() ?? 1;
  }
  printMatrix(result.compared, json, { suites: suitesJson(result, interrupt.name()) });
  return interrupt.exit() ?? result.compared.matrix.exit_code;
}

/** The command that resumes the open run; undefined if the interrupt came between two versions. */
function resumeOf({ runs }: VersionsResult): string | undefined {
  const open = runs.at(-1)?.result.runs.find(({ isOpen }) => isOpen);
  return open && `proctor run suite --resume ${wordFor(open.place)}`;
}

function suitesJson({ runs }: VersionsResult, signal: string | undefined): object[] {
  return runs.map(({ name, result }) => Object.assign({ name }, suiteRunJson(result, signal)));
}

function interruptedJson(result: VersionsResult, signal: string | undefined): object {
  return {
    kind: 'suite_versions',
    status: 'interrupted',
    suites: suitesJson(result, signal),
    not_started: result.notStarted,
    resume: resumeOf(result) ?? null,
  };
}

/** What is finished, and how to continue. */
function interruptedText(result: VersionsResult, paint: Paint): string {
  const { runs, notStarted } = result;
  const resume = resumeOf(result);
  const words = runs.flatMap(({ result: ran }) => (ran.runs[0] ? [wordFor(ran.runs[0].place)] : []));
  const more = notStarted.map(() => 'RUN');
  const lines = [
    `${paint('note', '…')} ${paint('strong', 'interrupted')}  finished runs stay`,
    ...(resume === undefined ? [] : [`  resume    ${resume}`]),
    ...(notStarted.length === 0 ? [] : [`  then run  ${notStarted.map(printable).join(', ')}`]),
    `  compare   proctor compare ${[...words, ...more].join(' ')}`,
  ];
  return `${lines.join('\n')}\n`;
}

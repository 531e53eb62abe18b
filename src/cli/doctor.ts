import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { diagnose, type SandboxDiagnosis } from '../tool/doctor.ts';
import { closeLauncher } from '../tool/run-script.ts';
import { stdout } from './out.ts';
import { type Paint, paintFor } from './paint.ts';

export async function doctorCommand({ json }: { json?: true }): Promise<number> {
  const diagnosis = await diagnose().finally(closeLauncher);
  if (json) {
    const { machine, sandboxes, interpreters, slots } = diagnosis;
    const { cgroups, seccomp, missing, isRoot } = machine;
    stdout.write(
      `${printableJson({ machine: { cgroups, seccomp, is_root: isRoot, missing: missing.map(file => path.basename(file)) }, sandboxes, interpreters: interpreters.map(({ name, path }) => ({ name, seen: path !== undefined })), slots })}\n`,
    );
    return 0;
  }
  const paint = paintFor(1);
  for (const sandbox of diagnosis.sandboxes) stdout.write(`${sandboxText(sandbox, paint)}\n`);
  const seen = diagnosis.interpreters.map(({ name, path }) =>
    path === undefined ? paint('faint', `${name} –`) : `${name} ${paint('good', '✓')}`,
  );
  stdout.write(`${paint('strong', 'interpreters')}  in a sandbox: ${seen.join('  ')}\n`);
  stdout.write(`${paint('strong', 'at once')}       ${diagnosis.slots} runs on this machine, whoever starts them\n`);
  return 0;
}

function sandboxText(
  { name, works, isolation, enforces, lacks, observed, trouble, advice }: SandboxDiagnosis,
  paint: Paint,
): string {
  const mark = name === 'none' ? paint('note', '!') : works ? paint('good', '✓') : paint('bad', '✗');
  const lines = [
    `${mark} ${paint('strong', `sandbox ${name}`)}  ${name === 'none' ? 'isolates nothing' : works ? `isolation ${isolation}` : 'does not work here'}`,
    ...(trouble === undefined ? [] : [`    ${printable(trouble)}`]),
    ...enforces.map(what => `    enforces  ${what}`),
    ...observed.map(
      ({ what, held, note }) =>
        `    tried     ${held ? paint('good', 'held') : paint('bad', 'broken')}: ${what.replace('_', ' ')}. ${printable(note)}`,
    ),
    ...lacks.map(what => `    ${paint('note', 'lacks')}     ${what}`),
    ...advice.map(what => `    ${paint('note', 'to do')}     ${what}`),
    '',
  ];
  return lines.join('\n');
}

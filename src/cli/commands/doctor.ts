import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { diagnose, type Diagnosis, type SandboxDiagnosis } from '../../verbs/doctor.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';

/** The exit code says whether a sandbox works here: 0 if one does, else 1. */
export async function doctorCommand({ json }: { json?: true }): Promise<number> {
  const diagnosis = await diagnose(process.env).finally(closeLauncher);
  const exit = diagnosis.sandboxes.some(({ name, works }) => name !== 'none' && works) ? 0 : 1;
  if (json) {
    stdout.write(`${printableJson(asJson(diagnosis))}\n`);
    return exit;
  }
  const paint = paintFor(1);
  for (const sandbox of diagnosis.sandboxes) stdout.write(`${sandboxText(sandbox, paint)}\n`);
  for (const agent of diagnosis.agents) stdout.write(`${agentText(agent, paint)}\n`);
  const seen = diagnosis.interpreters.map(({ name, path }) =>
    path === undefined ? paint('faint', `${name} –`) : `${name} ${paint('good', '✓')}`,
  );
  stdout.write(`\n${paint('strong', 'interpreters')}  in a sandbox: ${seen.join('  ')}\n`);
  stdout.write(`${paint('strong', 'at once')}       ${diagnosis.slots} programs per user; the rest wait for a slot\n`);
  return exit;
}

function asJson({ machine, sandboxes, interpreters, agents, slots }: Diagnosis): object {
  const { cgroups, seccomp, missing, isRoot } = machine;
  return {
    machine: { cgroups, seccomp, is_root: isRoot, missing: missing.map(file => path.basename(file)) },
    sandboxes,
    interpreters: interpreters.map(({ name, path }) => ({ name, seen: path !== undefined })),
    agents: agents.map(({ agent, isFound, version = null, isUnderstood, key, login, trouble = null, advice }) => ({
      agent,
      found: isFound,
      version,
      understood: isUnderstood,
      key: { variable: key.variable, set: key.isSet },
      login: { usable: login.isUsable, why: login.why ?? null },
      trouble,
      advice,
    })),
    slots,
  };
}

function agentText(
  { agent, isFound, version, isUnderstood, key, login, trouble, advice }: Diagnosis['agents'][number],
  paint: Paint,
) {
  const mark = !isFound ? paint('faint', '–') : isUnderstood ? paint('good', '✓') : paint('bad', '✗');
  const known = `${printable(version ?? '')}, ${isUnderstood ? 'supported' : 'not supported'}; ${key.variable} is ${key.isSet ? '' : 'not '}set`;
  return [
    `${mark} ${paint('strong', `agent ${agent}`)}  ${trouble === undefined ? known : printable(trouble)}`,
    ...(login.isUsable ? [`    login     available: --login ${agent}`] : []),
    ...advice.map(what => `    ${paint('note', 'to do')}     ${what}`),
  ].join('\n');
}

function sandboxText(
  { name, works, isolation, enforces, limits, lacks, observed, trouble, advice }: SandboxDiagnosis,
  paint: Paint,
): string {
  const mark = name === 'none' ? paint('note', '!') : works ? paint('good', '✓') : paint('bad', '✗');
  const lines = [
    `${mark} ${paint('strong', `sandbox ${name}`)}  ${name === 'none' ? 'isolates nothing' : works ? `isolation ${isolation}` : 'does not work here'}`,
    ...(trouble === undefined ? [] : [`    ${printable(trouble)}`]),
    ...enforces.map(what => `    enforces  ${what}`),
    ...limitLines(limits).map(line => `    limits    ${line}`),
    ...observed.map(
      ({ what, held, note }) =>
        `    probe     ${held ? paint('good', 'passed') : paint('bad', 'failed')}: ${what.replace('_', ' ')}. ${printable(note)}`,
    ),
    ...lacks.map(what => `    ${paint('note', 'lacks')}     ${what}`),
    ...advice.map(what => `    ${paint('note', 'to do')}     ${what}`),
    '',
  ];
  return lines.join('\n');
}

/** One line for each claim: `watched: memory, CPU time`. */
function limitLines(limits: SandboxDiagnosis['limits']): string[] {
  const claims = [...new Set(limits.map(({ claim }) => claim))];
  return claims.map(claim => {
    const titles = limits.filter(each => each.claim === claim).map(({ title }) => title.replaceAll('`', ''));
    return `${claim.replace('_', ' ')}: ${titles.join('; ')}`;
  });
}

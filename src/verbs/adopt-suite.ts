import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { readRegular } from '../base/regular.ts';
import { soundLimits } from '../contracts/gate/limits/index.ts';
import { CODING_KEYS } from '../contracts/suite/index.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { replyName, repliesIn } from '../evidence/suite/reply-log.ts';
import { adoptSuite, type KeepsCase } from '../evidence/suite/suite-adopt.ts';
import { suiteCases } from '../evidence/suite/suite-folder.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { repositoryAt } from '../execute/worktree/repository.ts';
import type { AgentAsked } from '../run/suite/agent-asked.ts';
import { suitePlan } from '../run/suite/plan.ts';
import { DEFAULT_SETTINGS, settingsFrom } from '../run/suite/settings.ts';
import { answerDifferences, type ProvenAnswer, replyProof, statedAnswer } from '../targets/answer-proof.ts';
import type { RunSuiteOptions } from './run-suite.ts';
import { refuseOther, type WithDeclared } from './declared.ts';
import { describeTarget } from './suite-targets.ts';
import { checkedSettings, foreignResume, inFolder } from './suite-words.ts';

/** The options to resume a suite that another machine started. The user must specify its target and variables again. */
export type AdoptOptions = Pick<
  RunSuiteOptions,
  | 'baseUrl'
  | 'target'
  | 'environment'
  | 'script'
  | 'agent'
  | 'policy'
  | 'dir'
  | 'checksFile'
  | 'headers'
  | 'secrets'
  | 'redirects'
  | 'strictReplies'
  | 'bounds'
  | keyof AgentAsked
>;

/** Throws unless the options specify a target and every variable of the run. */
export function checkNamedAgain(word: string, { request }: SuitePlan, named: AdoptOptions): void {
  const { baseUrl, target, script, agent, headers = [], secrets = {} } = named;
  if (baseUrl === undefined && target === undefined && script === undefined && agent === undefined) {
    throw new Fault(
      'not_started_here',
      `The run was interrupted, and you did not start it on this machine. Specify the target and every variable again: ${foreignResume(word, request.target.kind)}`,
    );
  }
  const headerNames = new Set(headers.map(({ name }) => name));
  const variables = new Set([...headers.map(({ env }) => env), ...Object.keys(secrets)]);
  const lacking = [
    ...(request.target.kind === 'http' ? request.target.header_names : [])
      .filter(name => !headerNames.has(name))
      .map(name => `--header '${printable(name)}: env:VARIABLE'`),
    // A target file names its own variables.
    ...(target === undefined ? request.secret_names : [])
      .filter(name => !variables.has(name))
      .map(name => `--secret ${printable(name)}`),
  ];
  if (lacking.length === 0) return;
  throw new Fault(
    'not_started_here',
    `You did not start the run on this machine. Specify its variables again: ${lacking.join(' ')}`,
  );
}

/** Takes over the run, with the target and variables that the user specified. */
export async function adopt(
  { place, plan: before }: { readonly place: RunFolder; readonly plan: SuitePlan },
  named: WithDeclared,
  home: string,
  cwd: string,
): Promise<void> {
  const { version, repetition, only, shard, suite, cases, gate } = before.request;
  const was = before.request.provenance?.agent_version;
  const { declared, provenance } = named;
  if (was !== undefined && declared?.version !== undefined) refuseOther(was, declared.version);
  const settings = checkedSettings(settingsFrom(before.request.settings), DEFAULT_SETTINGS);
  const { headers = [], secrets = {}, ...options } = named;
  refuseForeignWork(place.folder);
  const whom = await describeTarget(
    { ...options, headers, secrets, cases: before.casesPath, as: version },
    settings,
    home,
    cwd,
    [{ id: '', keys: {} }],
  );
  const order = {
    group: repetition.of,
    repetitions: repetition.total,
    version,
    only,
    ...(shard && { shard }),
    ...(suite !== undefined && { suite }),
    settings,
    secretNames: [...headers.map(({ env }) => env), ...Object.keys(secrets)],
    casesPath: path.basename(before.casesPath),
    outDir: inFolder(path.dirname(home), path.dirname(path.dirname(place.folder))),
    repository: await repositoryAt(cwd),
    headers: headers.map(({ name, env }) => ({ name, env })),
    gate: soundLimits(gate),
    ...whom,
  };
  const plan = suitePlan(order, repetition.number, cases, shard?.all);
  const planOf = (done: number): SuitePlan => {
    // Nothing says which version gave the answers from elsewhere, unless the run states it.
    const { agent_version, ...others } = provenance ?? {};
    const isKnown = done === 0 || agent_version === was;
    const stated = { ...others, ...(isKnown && agent_version !== undefined && { agent_version }) };
    const known = Object.keys(stated).length > 0 && { provenance: stated };
    return { ...plan, request: { ...plan.request, ...known, begun_elsewhere: { cases_done: done } } };
  };
  adoptSuite(place.folder, planOf, provenBy(place.folder, plan.request));
}

/** Refuses cases with coding keys, because another machine chose their folders and commands. */
function refuseForeignWork(folder: string): void {
  for (const one of suiteCases(folder)) {
    const key = CODING_KEYS.find(name => one[name] !== undefined);
    if (key !== undefined)
      throw new Fault(
        'not_started_here',
        `The case ${printable(one.id)} has the key ${key} and comes from another machine. Start a new run from your own case file.`,
      );
  }
}

/** Keeps an answer only if it follows from its reply by the target that the user named. */
function provenBy(folder: string, request: SuitePlan['request']): KeepsCase {
  const prove = replyProof(request);
  if (!prove) return () => true;
  const proven = new Map<string, ProvenAnswer>();
  for (const { reply } of repliesIn(folder)) {
    const body =
      reply.href === undefined
        ? Buffer.from(reply.body ?? '')
        : readRegular(path.join(folder, reply.href), request.settings.max_body_bytes);
    if (body) proven.set(replyName(reply.case_id, reply.attempt), prove(reply, body));
  }
  return artifact => {
    if (artifact.status !== 'ok') return true;
    const found = proven.get(replyName(artifact.case_id, artifact.attempts?.length ?? 0));
    return found !== undefined && answerDifferences(statedAnswer(artifact), found).next().done === true;
  };
}

import { existsSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { unsafePath } from '../base/path.ts';
import { isDeclaration, type ProjectTarget } from '../contracts/project/index.ts';
import type { SuiteRequest, SuiteTarget } from '../contracts/suite/index.ts';
import { homeFrom, runsIn } from '../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import type { CaseCommand, PageCommands, PageHole } from '../reports/page-data.ts';
import { findProjectFile, type ProjectFile, readProjectFile } from '../run/project/project-file.ts';
import { readTargetFile } from '../run/suite/target-file.ts';

const CASE: PageHole = { put: 'case' };
const RUN: PageHole = { put: 'new' };

/** The commands that work in this folder for the cases of a run. A command whose files are not here is left out. */
export function commandsFor(cwd: string, folder: string, away: readonly string[]): PageCommands {
  const { request, run } = readSuiteFolder(folder);
  const project = projectIn(cwd);
  const { target } = request;
  const known = knownTarget(target, project, cwd);
  const suite = project && known?.name !== undefined ? suiteOf(project, known.name, run.cases_path, cwd) : undefined;
  const needed = neededVariables(request);
  const isHere = runsIn(homeFrom(cwd)).some(one => one.folder === folder);
  const again = suite !== undefined ? testCommand(suite) : suiteCommand(run.cases_path, target, known, cwd);
  const resend = resendWords(target, known);
  const withNote = (command: CaseCommand): CaseCommand => ({ ...command, ...(needed && { note: needed }) });
  const list: (CaseCommand | undefined)[] = [
    again && withNote(again),
    isHere && resend
      ? withNote({ does: 'Send the recorded request again, and compare the answers.', words: resend })
      : undefined,
    target.kind === 'declared' && known
      ? withNote({
          does: 'Ask the target the same question. Nothing is stored.',
          words: ['proctor', 'try', known.word, { put: 'question' }],
        })
      : undefined,
    isHere ? { does: 'Show the run of this trial.', words: ['proctor', 'show', RUN] } : undefined,
    isHere
      ? { does: 'Show the run of the baseline’s trial.', words: ['proctor', 'show', { put: 'baseline' }] }
      : undefined,
  ];
  return {
    list: list.filter(command => command !== undefined),
    notes: [...(isHere ? [] : [NOT_HERE]), ...(again ? [] : [lacking(target)])],
    away: [...new Set(away)].slice(0, AWAY_MAX),
  };
}

const AWAY_MAX = 2_000;
const NOT_HERE = 'The run is in another folder, so no command here can show it or send its requests again.';

function lacking(target: SuiteTarget): string {
  if (target.kind === 'http' && target.header_names.length > 0)
    return `To run this case again, use proctor run suite or proctor resend with --header '${target.header_names[0]}: env:VARIABLE'.`;
  return target.kind === 'agent'
    ? 'To run this case again, use proctor run suite with --agent and --only.'
    : 'To run this case again, use proctor run suite with --only. Its case file or its target is not in this folder.';
}

/** A target in this folder: a name in the project file, or a file. */
interface Known {
  readonly word: string;
  /** The key in the project file. */
  readonly name?: string;
}

/** The project of a folder; undefined if it has none that can be read. */
export function projectIn(cwd: string): ProjectFile | undefined {
  try {
    const file = findProjectFile(cwd);
    return file === undefined ? undefined : readProjectFile(file);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

function knownTarget(target: SuiteTarget, project: ProjectFile | undefined, cwd: string): Known | undefined {
  const named = Object.entries(project?.project.targets ?? {}).find(([name, one]) => isSame(target, name, one));
  if (named) {
    const [name, one] = named;
    const inProject = project as ProjectFile;
    if (one.kind === 'script' && 'file' in one)
      return { name, word: path.relative(cwd, path.resolve(inProject.dir, one.file)) };
    return { name, word: name };
  }
  if (target.kind === 'script') return isFileIn(cwd, target.name) ? { word: target.name } : undefined;
  if (target.kind !== 'declared') return undefined;
  const file = ENDINGS.map(ending => `${target.name}${ending}`).find(one => isTargetFile(cwd, one, target.name));
  return file === undefined ? undefined : { word: file };
}

const ENDINGS = ['.yaml', '.yml', '.json', '.target.yaml', '.target.yml', '.target.json'];

function isSame(target: SuiteTarget, name: string, one: ProjectTarget): boolean {
  if (target.kind === 'declared') return isDeclaration(one) && name === target.name;
  if (one.kind === 'script') return target.kind === 'script' && path.basename(one.file) === target.name;
  return one.kind === 'agent' && target.kind === 'agent' && one.agent === target.name;
}

function isFileIn(cwd: string, name: string): boolean {
  return unsafePath(name) === undefined && existsSync(path.join(cwd, name));
}

function isTargetFile(cwd: string, file: string, name: string): boolean {
  try {
    return isFileIn(cwd, file) && readTargetFile(path.join(cwd, file)).name === name;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

/** The suite of the project that asks this target these cases. */
function suiteOf({ project, dir }: ProjectFile, target: string, casesPath: string, cwd: string): string | undefined {
  const cases = path.resolve(cwd, casesPath);
  return Object.entries(project.suites).find(
    ([, suite]) => (suite.sides?.new ?? suite.target) === target && path.resolve(dir, suite.cases) === cases,
  )?.[0];
}

const testCommand = (suite: string): CaseCommand => ({
  does: 'Run this case again, and compare it with its baseline.',
  words: ['proctor', 'test', suite, '--only', CASE],
});

function suiteCommand(
  casesPath: string,
  target: SuiteTarget,
  known: Known | undefined,
  cwd: string,
): CaseCommand | undefined {
  const flags = targetFlags(target, known);
  if (!flags || !isFileIn(cwd, casesPath)) return undefined;
  return {
    does: 'Run this case again.',
    words: ['proctor', 'run', 'suite', casesPath, ...flags, '--as', 'new', '--only', CASE],
  };
}

function targetFlags(target: SuiteTarget, known: Known | undefined): readonly string[] | undefined {
  // Which variable holds the value of a header is not recorded.
  if (target.kind === 'http') return target.header_names.length > 0 ? undefined : ['--base-url', target.url];
  if (!known) return undefined;
  if (target.kind === 'script') return ['--script', known.word];
  return target.kind === 'declared' ? ['--target', known.word] : undefined;
}

function resendWords(target: SuiteTarget, known: Known | undefined): CaseCommand['words'] | undefined {
  if (target.kind === 'http') return target.header_names.length > 0 ? undefined : ['proctor', 'resend', RUN, CASE];
  const flags = targetFlags(target, known);
  return flags && ['proctor', 'resend', RUN, CASE, ...flags];
}

function neededVariables({ secret_names: names }: SuiteRequest): string | undefined {
  if (names.length === 0) return undefined;
  return `Set ${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''} first.`;
}

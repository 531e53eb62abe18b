// The steps of the GitHub Action in action.yml: find, install, test, comment. Inputs arrive as environment variables,
// because text pasted into a shell script could run as code.
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import path from 'node:path';
import { writeComment } from './action-comment.mjs';
import { annotationsIn, command, cut, faultsIn, RESULT, SUITE, summaryText } from './action-text.mjs';

const HERE = path.dirname(import.meta.dirname);
const env = process.env;

const STEPS = { find, install, test, comment };

async function main(name) {
  const step = STEPS[name];
  if (!step) throw new Error(`Use one of: ${Object.keys(STEPS).join(', ')}.`);
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    process.stdout.write(command('error', error.message));
    return 2;
  }
}

/** Decides which Proctor to run: the project's, one on the PATH, or this action's own, which is built once. */
function find() {
  checkInputs();
  const found = ownProctor(workFolder()) ?? onPath() ?? builtHere();
  if (found) output('command', JSON.stringify(found));
  output('install', found ? 'false' : 'true');
  if (!found) output('key', sourceHash());
  if (env.PROCTOR_SHARD) output('part', env.PROCTOR_SHARD.replace('/', '-of-'));
  if (env.PROCTOR_MERGE === 'true') output('parts', path.join(env.RUNNER_TEMP ?? '.', 'proctor-parts'));
  return 0;
}

/** Builds Proctor from the source of this action. Packages come from its lock file, and run no scripts. */
function install() {
  for (const args of [
    ['ci', '--ignore-scripts'],
    ['run', 'build'],
    ['prune', '--omit=dev', '--ignore-scripts'],
  ]) {
    const stdio = ['ignore', 'inherit', 'inherit'];
    const { status } = spawnSync('npm', [...args, '--no-audit', '--no-fund'], { cwd: HERE, stdio });
    if (status !== 0) throw new Wrong(`Proctor is not installed, because npm ${args[0]} failed. The log says why.`);
  }
  return 0;
}

/** Runs `proctor test`. Its exit code is that of the step. */
async function test() {
  const folder = mkdtempSync(path.join(env.RUNNER_TEMP ?? '.', 'proctor-report-'));
  const [program, ...first] = JSON.parse(env.PROCTOR_COMMAND || 'null') ?? builtHere() ?? [];
  if (program === undefined) throw new Wrong('Proctor is not installed. The step before this one says why.');
  const args = [
    ...first,
    'test',
    ...suites(),
    ...furtherArgs(),
    ...partArgs(),
    ...configArgs(),
    '--report',
    FORMATS,
    '--out',
    folder,
    '--json',
  ];
  const exitCode = await run(program, args, path.join(folder, RESULT));
  output('exit-code', String(exitCode));
  output('report', folder);
  // A part has no report.
  const isPart = Boolean(env.PROCTOR_SHARD) && exitCode === 0;
  if (env.GITHUB_STEP_SUMMARY && !isPart) {
    appendFileSync(env.GITHUB_STEP_SUMMARY, cut(summaryText(folder, exitCode), SUMMARY_CHARACTERS_MAX, SUMMARY_MARK));
  }
  for (const line of annotationLines(folder, exitCode)) process.stdout.write(line);
  return exitCode;
}

function annotationLines(folder, exitCode) {
  const faults = faultsIn(folder).map(({ suite, message }) =>
    command('error', suite ? `The suite ${suite} could not run: ${message}` : message),
  );
  const lines = [...faults, ...annotationsIn(folder).map(line => `${line}\n`)];
  if (exitCode === 0 || lines.length > 0) return lines;
  return [command('error', `Proctor could not run (exit code ${exitCode}). The log of the step says why.`)];
}

const FORMATS = 'html,junit,md,annotations';

/** GitHub accepts 1 MiB per step. A character takes at most four bytes. */
const SUMMARY_CHARACTERS_MAX = 256 * 1024;
const SUMMARY_MARK = '*The rest is cut. The report of the run has everything.*';

/** Writes the comment on the pull request. It never fails the job. */
async function comment() {
  const event = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH ?? '', 'utf8'));
  const number = event?.pull_request?.number;
  if (!Number.isSafeInteger(number)) return say('notice', 'This is not a pull request, so Proctor writes no comment.');
  const { message, isWritten } = await writeComment({
    api: env.GITHUB_API_URL || 'https://api.github.com',
    token: env.PROCTOR_TOKEN,
    repository: env.GITHUB_REPOSITORY,
    number,
    name: env.PROCTOR_NAME,
    runId: env.GITHUB_RUN_ID,
    text: summaryText(env.PROCTOR_REPORT, env.PROCTOR_EXIT_CODE),
    footer: footer(event),
  });
  if (isWritten) process.stdout.write(`${message}\n`);
  return isWritten ? 0 : say('warning', message);
}

function footer({ pull_request: { head } }) {
  const commit = /^[0-9a-f]{40,64}$/.test(head?.sha) ? ` of \`${head.sha.slice(0, 12)}\`` : '';
  const run = `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}`;
  return `[Full report](${run}#artifacts)${commit}, exit code ${env.PROCTOR_EXIT_CODE}.\n`;
}

function say(level, message) {
  process.stdout.write(command(level, message));
  return 0;
}

/** A problem with an input or the machine, as a sentence. */
class Wrong extends Error {}

function checkInputs() {
  if (!/^[\w.-]{1,60}$/.test(env.PROCTOR_NAME ?? '')) {
    throw new Wrong('The input name must have 1 to 60 letters, digits, ".", "-" and "_".');
  }
  if (!existsSync(workFolder())) throw new Wrong('The input working-directory names a folder that does not exist.');
  if (env.PROCTOR_SHARD && !/^[1-9]\d{0,2}\/[1-9]\d{0,2}$/.test(env.PROCTOR_SHARD)) {
    throw new Wrong('The input shard must have the form i/n, such as 2/4.');
  }
  if (!['', 'true', 'false'].includes(env.PROCTOR_MERGE ?? '')) {
    throw new Wrong('The input merge must be true or false.');
  }
  if (env.PROCTOR_SHARD && env.PROCTOR_MERGE === 'true') {
    throw new Wrong('Use the inputs shard and merge in different jobs: parts run first, then one job decides.');
  }
  suites();
  furtherArgs();
}

function workFolder() {
  return path.resolve(env.GITHUB_WORKSPACE ?? '.', env.PROCTOR_WORKING_DIRECTORY || '.');
}

function suites() {
  const names = words(env.PROCTOR_SUITES);
  if (names.every(name => SUITE.test(name))) return names;
  throw new Wrong('The input suites must list names of suites, separated by spaces.');
}

function furtherArgs() {
  const args = words(env.PROCTOR_ARGS);
  const own = args.find(arg => OWN_FLAGS.includes(arg.split('=')[0]));
  if (own === undefined) return args;
  throw new Wrong(`The input args cannot contain ${OWN_FLAGS.join(', ')}, because the action sets or excludes them.`);
}

const OWN_FLAGS = ['--out', '--json', '--watch', '--accept', '--report', '--config', '--shard', '--parts'];

function partArgs() {
  if (env.PROCTOR_SHARD) return ['--shard', env.PROCTOR_SHARD];
  return env.PROCTOR_PARTS ? ['--parts', env.PROCTOR_PARTS] : [];
}

function configArgs() {
  return env.PROCTOR_CONFIG ? ['--config', env.PROCTOR_CONFIG] : [];
}

function words(text = '') {
  return text.split(/\s+/).filter(word => word !== '');
}

/** Proctor as a dependency of the project, at or above its folder. */
function ownProctor(folder) {
  const program = path.join(folder, 'node_modules', 'proctor', 'dist', 'proctor.js');
  if (existsSync(program)) return [process.execPath, program];
  const above = path.dirname(folder);
  return above === folder || folder === env.GITHUB_WORKSPACE ? undefined : ownProctor(above);
}

function onPath() {
  const folders = (env.PATH ?? '').split(path.delimiter).filter(folder => path.isAbsolute(folder));
  const folder = folders.find(folder => existsSync(path.join(folder, 'proctor')));
  return folder === undefined ? undefined : [path.join(folder, 'proctor')];
}

function builtHere() {
  const program = path.join(HERE, 'dist', 'proctor.js');
  return existsSync(program) && existsSync(path.join(HERE, 'node_modules')) ? [process.execPath, program] : undefined;
}

/** Names this version of the source, for the cache. A tag such as v1 moves. */
function sourceHash() {
  const hash = createHash('sha256').update(`${process.version} ${process.platform} ${process.arch}\n`);
  for (const name of ['package.json', 'package-lock.json', 'src', 'web', 'helpers', 'scripts']) addTo(hash, name);
  return hash.digest('hex');
}

function addTo(hash, name) {
  const file = path.join(HERE, name);
  if (lstatSync(file).isDirectory()) {
    for (const inner of readdirSync(file).sort((a, b) => (a < b ? -1 : 1))) addTo(hash, path.join(name, inner));
  } else hash.update(`${name}\n`).update(createHash('sha256').update(readFileSync(file)).digest());
}

/** Runs a program whose output may contain anything, even workflow commands. Returns its exit code; 2 if it has none. */
async function run(program, args, outputFile) {
  const mark = randomUUID();
  process.stdout.write(`::stop-commands::${mark}\n`);
  const stdout = openSync(outputFile, 'wx');
  try {
    const child = spawn(program, args, {
      cwd: workFolder(),
      env: childEnvironment(),
      stdio: ['ignore', stdout, 'inherit'],
    });
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
    return await new Promise(resolve => {
      child.once('error', () => resolve(2));
      child.once('close', code => resolve(code ?? 2));
    });
  } finally {
    closeSync(stdout);
    process.stdout.write(`::${mark}::\n`);
  }
}

/** The environment without the files and tokens that act for the workflow, and without this action's inputs. */
function childEnvironment() {
  const hidden =
    /^(?:ACTIONS_(?:ID_TOKEN_REQUEST|RUNTIME)_\w+|GITHUB_(?:OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)|PROCTOR_(?:COMMAND|NAME|SUITES|ARGS|CONFIG|WORKING_DIRECTORY|SHARD|MERGE|PARTS|TOKEN))$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !hidden.test(name)));
}

/** An output of the step. No value has a line feed: they are numbers, hashes, paths and JSON. */
function output(name, value) {
  if (env.GITHUB_OUTPUT) appendFileSync(env.GITHUB_OUTPUT, `${name}=${value.replaceAll(/[\r\n]/g, ' ')}\n`);
}

process.exitCode = await main(process.argv[2]);

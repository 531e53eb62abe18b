import { unsafePath } from '../../base/path.ts';
import { argvOf, type Intent, isFolderPath, isBelowRoots, LIMIT_NAMES } from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import { artifactPathFault } from '../../contracts/script-result/index.ts';
import { isOpen } from './placeholders.ts';
import { quotedText } from './words.ts';

/** One sentence for each request that the profile forbids. Nothing has run yet. */
export function refusalsOf(intent: Intent, profile: Profile): string[] {
  const refusals = [
    ...commandRefusals(intent, profile),
    ...pathRefusals(intent, profile),
    ...limitRefusals(intent, profile),
  ];
  const rest = refusals.length - REFUSALS_MAX;
  return rest > 0 ? [...refusals.slice(0, REFUSALS_MAX), `There are ${rest} more.`] : refusals;
}

const REFUSALS_MAX = 20;

function* commandRefusals({ commands = [] }: Intent, { name, allowed_commands: allowed }: Profile): Generator<string> {
  for (const [index, command] of commands.entries()) {
    const [program = ''] = argvOf(command);
    if (isOpen(program, 'argument')) continue;
    const place = command.shell === undefined ? `commands[${index}].argv[0]` : `commands[${index}].shell`;
    if (/[/\\]/.test(program))
      yield `PL6: ${place} is a path; a command is the bare name of a program, and which one that is, the sandbox decides.`;
    else if (!/^[A-Za-z0-9._+-]{1,64}$/.test(program)) yield `PL6: ${place} is not the name of a program.`;
    else if (allowed.length > 0 && !allowed.includes(program))
      yield `PL6: ${place} runs ${quotedText(program)}, which the profile ${name} does not allow. It allows ${allowed.join(', ')}.`;
  }
}

function* pathRefusals(intent: Intent, profile: Profile): Generator<string> {
  const { files = [], outputs = [], accept = [], commands = [] } = intent;
  const roots = profile.allowed_write_roots;
  for (const [index, { path }] of files.entries()) {
    if (isOpen(path)) continue;
    const trouble = pathTrouble(path);
    if (trouble) yield `PL6: files[${index}].path ${trouble}.`;
    else if (roots.some(root => root === path || root.startsWith(`${path}/`)))
      yield `PL6: files[${index}].path stands where the profile ${profile.name} has a folder to write to.`;
  }
  const outside = files.filter(({ path }) => !isBelowRoots(path, roots));
  const inside = files.length - outside.length;
  const filesMax = intent.limits?.max_output_files ?? profile.max_output_files;
  if (inside > filesMax)
    yield `PL6: files below the write roots are ${inside}, and there may be ${filesMax}, like those that are made there.`;
  const names = new Set(outside.map(({ path }) => path.split('/', 1)[0]));
  if (names.size > NAMES_MAX)
    yield `PL6: files have ${names.size} names in the work folder itself, the sandbox can show ${NAMES_MAX}; a folder counts once.`;
  for (const [index, output] of outputs.entries()) {
    if (isOpen(output)) continue;
    const trouble = pathTrouble(isFolderPath(output) ? output.slice(0, -1) : output);
    if (trouble) yield `PL6: outputs[${index}] ${trouble}.`;
    else if (roots.includes(output))
      yield `PL6: outputs[${index}] is a write root of the profile ${profile.name}; a folder of outputs ends with a slash.`;
    else if (!isBelowRoots(output, roots))
      yield `PL6: outputs[${index}] lies outside the write roots of the profile ${profile.name}: ${roots.join(', ')}.`;
  }
  for (const [index, { path }] of accept.entries()) {
    const trouble = path === undefined || isOpen(path) ? undefined : pathTrouble(path);
    if (trouble) yield `PL6: accept[${index}].path ${trouble}.`;
  }
  for (const [index, { makes = [] }] of commands.entries()) {
    for (const [at, made] of makes.entries()) {
      if (isOpen(made)) continue;
      const trouble = pathTrouble(isFolderPath(made) ? made.slice(0, -1) : made);
      if (trouble) yield `PL6: commands[${index}].makes[${at}] ${trouble}.`;
    }
  }
}

/** A limit, because the sandbox mounts each name separately. */
const NAMES_MAX = 1_000;

/** Why a path is not below the work folder or cannot be stored on every file system; undefined if it is fine. */
function pathTrouble(path: string): string | undefined {
  // A segment "." would give a file a second name.
  const unsafe = unsafePath(path) ?? (path.split('/').includes('.') ? 'holds the segment "."' : undefined);
  return unsafe ?? artifactPathFault(`output/${path}`);
}

function* limitRefusals(
  { limits = {}, network, outputs = [], files = [] }: Intent,
  profile: Profile,
): Generator<string> {
  for (const name of LIMIT_NAMES) {
    const asked = limits[name];
    if (asked !== undefined && asked > profile[name])
      yield `PL6: limits.${name} is ${asked}, the profile ${profile.name} allows ${profile[name]}.`;
  }
  if (network === true && !profile.allow_network)
    yield `PL6: network is asked for, and the profile ${profile.name} denies it.`;
  if (outputs.length > profile.max_output_files)
    yield `PL6: outputs are ${outputs.length}, the profile ${profile.name} allows ${profile.max_output_files}.`;
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes > profile.max_total_output_bytes)
    yield `PL6: files have ${bytes} bytes, the profile ${profile.name} allows ${profile.max_total_output_bytes}.`;
}

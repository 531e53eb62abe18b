import { placeOf } from '../base/place.ts';
import { bareNameFault } from '../contracts/script-request/bare-name.ts';
import type { DeclarationFault } from './declaration-faults.ts';
import type { ProgramDeclaration } from './program-call.ts';

/** What is wrong with the declaration of a program, besides its templates. */
export function* programFaults(declaration: ProgramDeclaration): Generator<DeclarationFault> {
  const { env = {}, network, sandbox, start } = declaration;
  for (const name of Object.keys(env)) {
    const path = placeOf('env', name);
    if (!VARIABLE.test(name)) yield { path, message: `${path} is not a valid variable name.` };
  }
  if (network === 'block' && sandbox === 'none')
    yield { path: 'network', message: 'network: Proctor cannot block the network without a sandbox.' };
  if (start)
    yield {
      path: 'start',
      message: 'start requires a target with a url. A command or function starts for every case.',
    };
  const fault = declaration.kind === 'command' ? outputFault(declaration.output) : moduleFault(declaration.module);
  if (fault) yield fault;
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

function outputFault(output: string | undefined): DeclarationFault | undefined {
  if (output === undefined) return undefined;
  const why = FOLDERS.has(output) ? 'is the name of a folder' : bareNameFault(output);
  return why === undefined ? undefined : { path: 'output', message: `output ${why}. Write a name such as reply.json.` };
}

/** Folders that exist in the temporary folder of every attempt. */
const FOLDERS: ReadonlySet<string> = new Set(['input', 'output']);

function moduleFault(module: string): DeclarationFault | undefined {
  const says = module.startsWith('/')
    ? 'must be relative to the folder of the target file'
    : /\.[cm]?js$/.test(module)
      ? undefined
      : 'must be a .js, .mjs or .cjs file';
  return says === undefined ? undefined : { path: 'module', message: `module ${says}.` };
}

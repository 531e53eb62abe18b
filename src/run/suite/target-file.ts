import { statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { followLink, readRegular } from '../../base/regular.ts';
import { target, type TargetDeclaration } from '../../contracts/target/index.ts';
import { declarationFaults } from '../../targets/declaration-faults.ts';
import { readDocument } from '../written/document.ts';

/** A declared target: the declaration, its name, and the folder that its paths are relative to. */
export interface DeclaredTarget {
  readonly name: string;
  readonly dir: string;
  readonly declaration: TargetDeclaration;
  /** The version that the target reported. */
  readonly version?: string;
}

/**
 * Reads a target file in YAML or JSON. Reports every problem with its line, before anything is sent. `word` is the name
 * that the user gave.
 */
export function readTargetFile(file: string, word = path.basename(file)): DeclaredTarget {
  const name = path.basename(file);
  const bytes = readRegular(followLink(file), target.bytesMax);
  if (!bytes) throw new Fault('no_target', whyUnread(file, printable(word)));
  const declaration = readDocument(bytes, {
    contract: target,
    file: `target file "${printable(name)}"`,
    code: 'target_invalid',
    further: value => declarationFaults(value as TargetDeclaration),
  }) as TargetDeclaration;
  const named = declaration.name ?? name.replace(/(?:\.target)?\.(?:ya?ml|json)$/i, '');
  return { name: named.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, NAME_MAX), dir: path.dirname(file), declaration };
}

function whyUnread(file: string, word: string): string {
  const seen = statSync(file, { throwIfNoEntry: false });
  const from = path.isAbsolute(word) ? '' : ' relative to this folder';
  if (!seen) return `There is no target file "${word}"${from}. Check its name and its folder.`;
  return seen.isFile()
    ? `Cannot read the target file "${word}": it may not be readable, or is larger than 1 MiB.`
    : `"${word}" is not a file. Specify a target file in YAML or JSON.`;
}

const NAME_MAX = 100;

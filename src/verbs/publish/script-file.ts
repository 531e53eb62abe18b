import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { readRegular } from '../../base/regular.ts';
import { publishedScript, type PublishedScript } from '../../contracts/published-script/index.ts';
import { patternFaults } from '../../publish/patterns.ts';
import { SCRIPT_YAML } from '../../publish/versions.ts';
import { checkOrder } from '../../run/script/order.ts';
import { readDocument } from '../../run/written/document.ts';

/** Reads script.yaml in a folder. Reports every problem with its line. */
export function readScriptFile(folder: string): PublishedScript {
  const bytes = readRegular(path.join(folder, SCRIPT_YAML), publishedScript.bytesMax);
  if (!bytes)
    throw new Fault(
      'no_script_file',
      `The folder has no ${SCRIPT_YAML}, or it is larger than 1 MiB. \`proctor example published-script\` prints one as JSON.`,
    );
  return readDocument(bytes, {
    contract: publishedScript,
    file: SCRIPT_YAML,
    code: 'script_invalid',
    further: document => patternFaults(document as PublishedScript),
  }) as PublishedScript;
}

/** Checks that the files that script.yaml names exist, and that a program can run the script. */
export function checkScriptFiles(folder: string, paths: ReadonlySet<string>, declared: PublishedScript): void {
  for (const [key, file] of [
    ['script', declared.script],
    ...(declared.files ?? []).map(one => ['files', one]),
  ] as const) {
    if (!paths.has(file))
      throw new Fault('script_invalid', `${SCRIPT_YAML} names ${file} in ${key}, but the folder has no such file.`);
  }
  checkOrder({ script: path.join(folder, declared.script) });
}

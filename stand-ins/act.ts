import { readFileSync } from 'node:fs';
import { deeds } from './deeds.ts';
import type { Deed, Scene } from './scene.ts';
import { print } from './stream.ts';
import { type AskModel, workWith } from './work.ts';
import type { Tongue } from './output-format.ts';

/**
 * Performs the actions that the task names, in order: `DO=write`, `DO=lines:1000`. Exits with 64 for an unknown action
 * and 70 for a failed one, so that no test passes because of a typo. With `ask`, the model decides what to do if the
 * task names no actions.
 */
export function act(tongue: Tongue, own: Readonly<Record<string, Deed>>, ask?: AskModel): void {
  perform(tongue, own, ask).catch((error: unknown) => {
    print(`${String(error)}\n`, 2);
    process.exit(70);
  });
}

async function perform(tongue: Tongue, own: Readonly<Record<string, Deed>>, ask?: AskModel): Promise<void> {
  if (process.argv.includes('--version')) {
    print(`${tongue.version}\n`);
    return;
  }
  const task = readFileSync(0, 'utf8');
  const known: Readonly<Record<string, Deed>> = { ...deeds, ...own };
  const asked = [...task.matchAll(/\bDO=(\w+)(?::(\S+))?/g)].map(([, word = '', argument]) => {
    const deed = known[word];
    if (deed === undefined) {
      print(`Unknown action: ${word}.\n`, 2);
      process.exit(64);
    }
    return { deed, argument };
  });
  const scene: Scene = {
    tongue,
    finalText: 'Done.',
    atEnd: () => tongue.finishes(scene.finalText),
    afterwards: () => {},
  };
  if (!/\bDO=silence\b/.test(task)) tongue.begin();
  for (const { deed, argument } of asked) await deed(scene, argument);
  if (ask && asked.length === 0) await workWith(ask, scene, task);
  scene.atEnd();
  scene.afterwards();
}

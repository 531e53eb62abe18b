/**
 * A program that owns a launcher: bundled by drive.ts and started in a process of its own, so that tests can be its
 * parent, kill it, or run it as another user. Reads what to run as JSON from its first argument; says what became of
 * each as a line of JSON. A run that is held is told as soon as its program speaks, and then lasts until somebody ends it.
 */
import type { Job } from '../../src/execute/job.ts';
import { openLauncher } from '../../src/execute/launch.ts';
import { type Asked, opened, ran } from './jobs.ts';

export interface Driven {
  readonly backend: Job['backend'];
  readonly asked: Asked;
  readonly isHeld?: boolean;
}

const launcher = openLauncher();
const say = (answer: object): void => void process.stdout.write(`${JSON.stringify(answer)}\n`);

for (const { backend, asked, isHeld } of JSON.parse(process.argv[2] ?? '[]') as Driven[]) {
  try {
    if (isHeld) await hold(backend, asked);
    else say(await ran(launcher, backend, asked));
  } catch (error) {
    say({ fault: String((error as { code?: string }).code), detail: String((error as Error).cause) });
  }
}
await launcher.close();

async function hold(backend: Job['backend'], asked: Asked): Promise<void> {
  const prepared = await opened(launcher, backend, asked, true);
  await prepared.start(() => say({ launcher: launcher.pid, leftovers: prepared.leftovers }));
}

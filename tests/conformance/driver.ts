/**
 * A program that owns a launcher. drive.ts bundles it and starts it as a separate process, so that tests can be its
 * parent, kill it, or run it as another user. It reads the jobs as JSON from its first argument and prints a line of
 * JSON for each outcome. A held run is reported at its first output and lasts until it is killed.
 */
import type { Job } from '../../src/execute/job/job.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
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

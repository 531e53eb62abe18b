import type { Launcher } from '../execute/launcher/launch.ts';

let shared: Promise<Launcher> | undefined;

/** One launcher serves all runs of this process. It starts on first use and ends with the process. */
export async function sharedLauncher(): Promise<Launcher> {
  shared ??= import('../execute/launcher/launch.ts').then(({ openLauncher }) => openLauncher());
  const launcher = await shared;
  if (!launcher.isLost()) return launcher;
  shared = undefined;
  return sharedLauncher();
}

/** Ends the launcher and waits until everything it created is removed. */
export async function closeLauncher(): Promise<void> {
  const launcher = await shared;
  shared = undefined;
  if (!launcher || (await launcher.close())) return;
  // The launcher died after its last message, so it may have left something behind.
  const { removeAfter } = await import('../execute/launcher/abandoned.ts');
  await removeAfter(launcher.pid);
}

import { builtBeside } from './beside.ts';
import type { Mount } from './job.ts';
import { DOOR } from './sandboxes/root.ts';

/** A command that runs in a sandbox with a door, such that the model is found behind a port of its own loopback. */
export function forwarded(argv: readonly string[], port: number): string[] {
  return [NODE, ...QUICKLY, FORWARD, `${DOOR}/model.sock`, String(port), '--', ...argv];
}

/** What the command needs to be there: the Node that runs us, and the program that `forward.ts` becomes. */
export function forwarderMounts(): Mount[] {
  return [
    { source: process.execPath, target: NODE },
    { source: builtBeside('forward.cjs'), target: FORWARD },
  ];
}

const NODE = '/agent/node';
const FORWARD = '/agent/forward.cjs';

/** It computes nothing, so it needs no threads to compile in, which would count among those of the agent. */
const QUICKLY = ['--v8-pool-size=0'];

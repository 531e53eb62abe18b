import { builtProgram } from '../host/package-files.ts';
import type { Mount } from '../job/job.ts';
import { DOOR } from '../sandboxes/root.ts';

/** Wraps a command so that it reaches the model through a port on its own loopback interface. */
export function forwarded(argv: readonly string[], port: number): string[] {
  return [NODE, ...QUICKLY, FORWARD, `${DOOR}/model.sock`, String(port), '--', ...argv];
}

/** The mounts that the wrapped command needs: Node and the built `forward.ts`. */
export function forwarderMounts(): Mount[] {
  return [
    { source: process.execPath, target: NODE },
    { source: builtProgram('forward.cjs'), target: FORWARD },
  ];
}

const NODE = '/agent/node';
const FORWARD = '/agent/forward.cjs';

/** It needs no compiler threads, which would count towards the agent's process limit. */
const QUICKLY = ['--v8-pool-size=0'];

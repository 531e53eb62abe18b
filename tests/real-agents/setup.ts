import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the real agents; empty if they are unavailable. */
    readonly agentsFolder: string;
  }
}

const CANNOT_BE_HAD = 75;

/** Installs the real agents once. */
export default function setup(project: TestProject): void {
  const script = path.join(project.config.root, 'scripts', 'agent-clis.mjs');
  const { status, stdout } = spawnSync(process.execPath, [script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0 && status !== CANNOT_BE_HAD) throw new Error(`The real agents were not installed: exit ${status}`);
  if (status === CANNOT_BE_HAD)
    console.error(`\n${'*'.repeat(78)}\n*** ALL TESTS WITH REAL AGENTS ARE SKIPPED\n${'*'.repeat(78)}\n`);
  project.provide('agentsFolder', status === 0 ? stdout.trim() : '');
}

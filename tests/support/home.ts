import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT, temporaryFolder, unhurried } from './support.ts';

/** Where nvm installs Node in a home. */
export const NVM = '.nvm/versions/node/v20.1.0/bin/node';

/** A user's home with a Node in it, and an empty project. */
export class Home {
  readonly folder: string;
  readonly cwd: string;
  readonly temp = path.join(temporaryFolder(), 'temp');
  readonly node: string;

  constructor(node: string, mode = 0o755, below = tmpdir()) {
    this.folder = realpathSync(mkdtempSync(path.join(below, 'proctor-home-')));
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
    this.cwd = path.join(this.folder, 'project');
    this.node = this.program(node, process.execPath);
    if (node === NVM) mkdirSync(path.join(this.folder, NVM, '../../lib/node_modules/npm'), { recursive: true });
    chmodSync(path.dirname(this.temp), 0o755);
    for (const folder of [this.cwd, this.temp]) {
      mkdirSync(folder);
      chmodSync(folder, 0o777);
    }
    writeFileSync(path.join(this.folder, 'private.txt'), 'a private file');
    chmodSync(this.folder, mode);
  }

  /** A hard link if possible, because Node is large. */
  program(name: string, source: string): string {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    try {
      linkSync(realpathSync(source), file);
    } catch {
      copyFileSync(source, file);
    }
    return file;
  }

  file(name: string, text: string, mode = 0o644): void {
    writeFileSync(path.join(this.cwd, name), text, { mode });
  }

  proctor(args: readonly string[], { uid, env = {} }: { uid?: number; env?: NodeJS.ProcessEnv } = {}) {
    const { status, stdout, stderr } = spawnSync(this.node, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
      cwd: this.cwd,
      env: { PATH: process.env.PATH, HOME: this.folder, TMPDIR: this.temp, NO_COLOR: '1', ...env },
      encoding: 'utf8',
      timeout: 120_000,
      ...(uid !== undefined && { uid, gid: uid }),
    });
    return { code: status, stdout, stderr: unhurried(stderr) };
  }
}

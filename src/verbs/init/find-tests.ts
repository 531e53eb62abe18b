import { existsSync } from 'node:fs';
import path from 'node:path';
import { memberOf } from './folder.ts';
import { packageIn } from './find-start.ts';
import type { Look } from './look.ts';

/** The command that tests this folder, as far as its files show. Starts nothing. */
export function findTests({ cwd }: Look): string | undefined {
  const script = memberOf(memberOf(packageIn(cwd), 'scripts'), 'test');
  if (typeof script === 'string' && !script.includes(NONE_YET)) return 'npm test';
  return COMMANDS.find(([file]) => existsSync(path.join(cwd, file)))?.[1];
}

/** The test script that `npm init` writes contains these words. */
const NONE_YET = 'no test specified';

const COMMANDS = [
  ['go.mod', 'go test ./...'],
  ['Cargo.toml', 'cargo test'],
  ['pytest.ini', 'python3 -m pytest'],
] as const;

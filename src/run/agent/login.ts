import path from 'node:path';
import type { HeldLogin, LoginFile } from '../../adapters/login.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { readRegular } from '../../base/regular.ts';
import type { AgentOrder } from './order.ts';

/**
 * Reads the login that an agent's own program stores. Proctor never refreshes it, because that would log the user out.
 * Proctor neither writes the login nor exposes it to the sandbox.
 */
export function readLogin(agent: string, login: LoginFile, environment: AgentOrder['environment']): HeldLogin {
  const refuse = (why: string): never => {
    throw new Fault('no_login', `Proctor cannot use the login of ${agent}: ${why}`);
  };
  const folder = environment[login.folderVariable] || below(environment['HOME'], login.folder);
  if (folder === undefined) return refuse('HOME is not set, so it cannot be found.');
  const bytes = readRegular(path.join(folder, login.file), LOGIN_BYTES_MAX, isOwn);
  if (!bytes)
    return refuse(
      `${login.file} must be a regular file of at most ${LOGIN_BYTES_MAX / 1024} KiB that belongs to you and that only you can write to. Log in with ${agent} first.`,
    );
  const reading = readJson(bytes, { bytesMax: LOGIN_BYTES_MAX });
  const held = reading.ok ? login.held(reading.value) : undefined;
  if (!held) return refuse(`${login.file} contains no login that Proctor understands. Log in with ${agent} again.`);
  if (held.expiresAtMs <= systemClock.now() + LEFT_MS_MIN)
    return refuse(`it has expired. Run ${agent} once to renew it, and try again.`);
  return held;
}

function below(home: string | undefined, folder: string): string | undefined {
  return home ? path.join(home, folder) : undefined;
}

/** Another user who can write the file could bill this user's work to another account. */
function isOwn({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

const LOGIN_BYTES_MAX = 64 * 1024;

/** A login that expires before the agent's first request counts as expired. */
const LEFT_MS_MIN = 60_000;

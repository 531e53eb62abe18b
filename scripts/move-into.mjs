import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

/**
 * Moves every file of `source` into `target`; those in `last` go last. Files of an earlier build stay for a day, because
 * a program that started earlier may still load them. `.npmignore` lists them, so that they are not published.
 */
export function moveInto(target, source, { last = [], nowMs = Date.now() } = {}) {
  const names = filesIn(source);
  const outdated = filesIn(target).filter(name => !names.includes(name) && name !== IGNORE);
  for (const name of [...names.filter(name => !last.includes(name)), ...last]) {
    mkdirSync(path.dirname(path.join(target, name)), { recursive: true });
    renameSync(path.join(source, name), path.join(target, name));
  }
  const kept = keepForADay(target, outdated, nowMs);
  if (kept.length === 0) rmSync(path.join(target, IGNORE), { force: true });
  else writeFileSync(path.join(target, IGNORE), kept.map(name => `/${name}\n`).join(''));
}

const IGNORE = '.npmignore';
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Removes files that were already outdated a day ago. The modification time of an outdated file is when it became outdated. */
function keepForADay(target, outdated, nowMs) {
  const list = path.join(target, IGNORE);
  const known = new Set(existsSync(list) ? readFileSync(list, 'utf8').split('\n') : []);
  return outdated.filter(name => {
    const file = path.join(target, name);
    if (!known.has(`/${name}`)) utimesSync(file, nowMs / 1000, nowMs / 1000);
    const isKept = nowMs - statSync(file).mtimeMs < KEPT_MS;
    if (!isKept) rmSync(file, { force: true });
    return isKept;
  });
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)));
}

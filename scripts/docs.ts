/**
 * Generates docs/contracts/ (a page and a JSON Schema per contract, and an index), schemas/ (for editors), the tables of
 * limits in docs/sandboxes.md and docs/command-line.md, the table of acts in docs/agents.md, and docs/gate.svg.
 * With `--check`, it only reports files that are out of date.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';
import { loadContracts } from '../src/contracts/catalogue.ts';
import { withActsTable } from './acts-table.ts';
import { contractPages } from './contract-pages.ts';
import { gatePicture } from './gate-picture.ts';
import { withLimitsTable, withScriptLimits } from './limits-table.ts';
import { writtenSchemas } from './written-schemas.ts';

const isCheck = process.argv.includes('--check');
const contracts = await loadContracts();
fill('docs/contracts', contractPages(contracts));
fill('schemas', writtenSchemas(contracts));

const sandboxes = path.join(process.cwd(), 'docs', 'sandboxes.md');
const page = readFileSync(sandboxes, 'utf8');
if (isCheck && withLimitsTable(page) !== page) {
  console.error('The table of limits in docs/sandboxes.md does not match src/policy/limits.ts. Run npm run docs.');
  process.exitCode = 1;
} else if (!isCheck) writeAtomic(sandboxes, withLimitsTable(page));

const commands = path.join(process.cwd(), 'docs', 'command-line.md');
const commandsPage = readFileSync(commands, 'utf8');
if (isCheck && withScriptLimits(commandsPage) !== commandsPage) {
  console.error('docs/command-line.md does not match src/contracts/script-limits.ts. Run npm run docs.');
  process.exitCode = 1;
} else if (!isCheck) writeAtomic(commands, withScriptLimits(commandsPage), 0o666);

const agents = path.join(process.cwd(), 'docs', 'agents.md');
const agentsPage = readFileSync(agents, 'utf8');
const agentsNow = withActsTable(agentsPage, process.cwd());
if (isCheck && agentsNow !== agentsPage) {
  console.error('The table of acts in docs/agents.md does not match stand-ins/acts.json. Run npm run docs.');
  process.exitCode = 1;
} else if (!isCheck) writeAtomic(agents, agentsNow);

const pictureFile = path.join(process.cwd(), 'docs', 'gate.svg');
const picture = gatePicture(process.cwd());
if (isCheck && readFileSync(pictureFile, 'utf8') !== picture) {
  console.error('docs/gate.svg does not match bench/results/gate.json. Run npm run docs.');
  process.exitCode = 1;
} else if (!isCheck) writeAtomic(pictureFile, picture, 0o666);

/** Makes a folder contain exactly these files. */
function fill(name: string, files: ReadonlyMap<string, string>): void {
  const folder = path.join(process.cwd(), name);
  mkdirSync(folder, { recursive: true });
  const stale = readdirSync(folder).filter(file => !files.has(file));
  const wrong = [...files].filter(
    ([file, text]) => !existsSync(path.join(folder, file)) || readFileSync(path.join(folder, file), 'utf8') !== text,
  );
  if (isCheck && stale.length + wrong.length > 0) {
    const names = [...stale, ...wrong.map(([file]) => file)].join(', ');
    console.error(`${name} is out of date. Run npm run docs. Files: ${names}`);
    process.exitCode = 1;
  } else if (!isCheck) {
    for (const file of stale) rmSync(path.join(folder, file));
    for (const [file, text] of wrong) writeAtomic(path.join(folder, file), text, 0o666);
    console.log(`${files.size} files in ${name}, ${wrong.length} written, ${stale.length} removed.`);
  }
}

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type ActResult, ACTS } from '../stand-ins/acts.ts';

/** Returns docs/agents.md with the table of acts, as tests/run/agent/acts.test.ts recorded them with both agents. */
export function withActsTable(page: string, root: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('docs/agents.md has no markers for the table of acts');
  const file = path.join(root, 'stand-ins', 'acts.json');
  const results = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, ActResult>>;
  return `${before}${BEGIN}\n${tableOf(results)}\n${END}${after}`;
}

const BEGIN = '<!-- acts: written by npm run docs -->';
const END = '<!-- /acts -->';

/** The sources of violations, in the words of the docs. */
const SEEN_BY: Readonly<Record<string, string>> = {
  sandbox: 'the kernel',
  door: 'the model proxy',
  git: 'git objects and refs',
  tree: 'the files after the run',
  agent: 'a failed tool; the attempt had no effect',
};

function tableOf(results: Readonly<Record<string, ActResult>>): string {
  const rows = Object.entries(ACTS).map(([name, { title }]) => {
    const result = results[name];
    if (!result) throw new Error(`stand-ins/acts.json has no result for the act ${name}`);
    const { termination, reason, violations, flags } = result;
    const found = violations.map(one => one.split(' '));
    const classes = found.map(([kind = '', ...more]) => [`\`${kind}\``, ...more.slice(0, -1)].join(' '));
    const flagged = flags.map(flag => `flag \`${flag}\``);
    const sources = [...new Set(found.map(words => SEEN_BY[words.at(-1) ?? ''] ?? ''))];
    const seenBy = sources.length > 0 ? sources : flags.length > 0 ? ['the transcript'] : ['–'];
    const ends = termination === 'completed' ? '`completed`' : `\`${termination}\` (\`${reason}\`)`;
    return `| ${title} | ${[...classes, ...flagged].join(', ') || 'none'} | ${seenBy.join('; ')} | ${ends} |`;
  });
  return ['| action | class | detected by | ends as |', '|---|---|---|---|', ...rows].join('\n');
}

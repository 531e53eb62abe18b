import { check } from '../src/contracts/check.ts';
import type { Contract } from '../src/contracts/contract.ts';
import { jsonSchema } from '../src/contracts/json-schema.ts';
import { folderRules } from '../src/verify/folder-rules.ts';
import { packRules } from '../src/verify/pack-rules.ts';

/** The files of docs/contracts/ by name, made from the contracts alone. */
export function contractPages(contracts: readonly Contract[]): ReadonlyMap<string, string> {
  const pages = new Map<string, string>();
  for (const contract of contracts) {
    pages.set(`${contract.name}.md`, page(contract));
    pages.set(`${contract.name}.schema.json`, `${JSON.stringify(jsonSchema(contract), null, 2)}\n`);
  }
  pages.set('folder.md', folderPage());
  pages.set('packs.md', packsPage());
  pages.set('README.md', index(contracts));
  return pages;
}

const MADE = '<!-- Made by `npm run docs` from src/. Edit the contract, not this page. -->';

function page(contract: Contract): string {
  const { name, title, tells, source, version, fileNames, beyond = [], core, environment } = contract;
  const known = [
    ...(version ? [`its \`${version.field}\`, \`${JSON.stringify(version.value)}\``] : []),
    ...(fileNames ? [`the file name ${fileNames.map(place => `\`${place}\``).join(', ')}`] : []),
    `\`--as ${name}\``,
  ];
  return `${MADE}

# ${title}

${tells}

- **Written down in:** ${source}
- **Known by:** ${known.join(', or ')}
- **Size cap:** ${contract.bytesMax.toLocaleString('en-US')} bytes
- **JSON Schema:** [\`${name}.schema.json\`](${name}.schema.json), or \`proctor schema ${name}\`
${core ? `- **The hash covers:** ${core.map(key => `\`${key}\``).join(', ')}\n` : ''}${environment ? `- **The environment hash covers:** ${environment.map(key => `\`${key}\``).join(', ')}\n` : ''}${contract.canonicalBytes ? `- **Canonical bytes:** asked for by ${contract.canonicalBytes}; advice, and a violation with \`--strict\`\n` : ''}
## Rules

${contract.rules.map(rule => ruleSection(contract, rule)).join('\n')}
${beyond.length > 0 ? `## What a look at the document cannot tell\n\n${beyond.map(item => `- ${item}`).join('\n')}\n\n` : ''}## Example

\`\`\`json
${JSON.stringify(contract.example, null, 2)}
\`\`\`
`;
}

function ruleSection(contract: Contract, rule: Contract['rules'][number]): string {
  const { violations } = check(contract, rule.breach(structuredClone(contract.example) as never), {
    strict: false,
    internal: true,
  });
  const asks = rule.asks.map(ask => `- ${ask}`).join('\n');
  const fields = rule.fields.length > 0 ? `Owns ${rule.fields.map(field => `\`${field}\``).join(', ')}. ` : '';
  const reads = rule.reads ? `Looks at ${rule.reads.map(field => `\`${field}\``).join(', ')}. ` : '';
  return `### ${rule.id} ${rule.title}

${rule.why}

${asks}

${fields}${reads}A broken one reads: ${violations[0]?.message}
`;
}

function folderPage(): string {
  const rules = folderRules.map(
    ({ id, title, why, asks }) => `### ${id} ${title}\n\n${why}\n\n${asks.map(ask => `- ${ask}`).join('\n')}\n`,
  );
  return `${MADE}

# Folders

\`proctor verify FOLDER\` judges every \`.json\`, \`.ndjson\` and \`.jsonl\` file in it, at any depth, and then the rules
that no document can break alone. JSON of a format that is not known is named under "not checked" and, with \`--strict\`,
refused. Files in \`output/\` are the program's own, and so are those in \`assets/\` that are no documents.

    run.json  <case_id>.json …            a run of a suite and its cases
    evaluation.json  evaluation.seal.json which of them passed, written after the seal, and its own seal
    comparison.json  comparison.seal.json whether a new version is worse, and its seal
    assets/   manifest.json  …            bodies and payloads, and the list of them
    result.json  output/ …                what a script said, and what it left
    run.json  bundle.json  policy.json  output/ …     the result of an intent, and what it names
    evidence/ runner.json  events.ndjson  steps/<step>/manifest.json …     how a run was executed

${rules.join('\n')}`;
}

function packsPage(): string {
  const rules = packRules.map(
    ({ id, title, why, asks }) => `### ${id} ${title}\n\n${why}\n\n${asks.map(ask => `- ${ask}`).join('\n')}\n`,
  );
  return `${MADE}

# Packs

\`proctor verify PACK\` judges the folder of the run in it by all rules of [folders](folder.md), and the pack by these.
PK13 is the rule of [pack.json](pack.md) alone.

    folder/…            the files of the run, as they lay in its folder
    ledger-line.json    the line of the ledger that tells of the run, if it has one
    pack.json           what the seal does not name, and what was left out

${rules.join('\n')}`;
}

function index(contracts: readonly Contract[]): string {
  const rows = contracts.map(({ name, title, tells, rules }) => {
    const ids = rules.map(({ id }) => id);
    return `| [${name}](${name}.md) | ${title} | ${tells} | ${ids.join(' ')} |`;
  });
  return `${MADE}

# Contracts

| name | document | what it tells | rules |
|---|---|---|---|
${rows.join('\n')}
| [folders](folder.md) | a folder of evidence | what the documents in it say of each other and of the files beside them | ${folderRules.map(({ id }) => id).join(' ')} |
| [packs](packs.md) | an archive of a run | what is asked of it beyond what its folder is asked | ${packRules.map(({ id }) => id).join(' ')} |
`;
}

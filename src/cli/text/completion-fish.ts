import type { Completed, CompletedCommand } from './completion-words.ts';

/** fish shows a description beside each word, and completes values from the declaration of each flag. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  // `help run suite` completes like `run suite`.
  const paths = commands.map(({ path }) => path).filter(path => path !== '' && !/\bhelp$/.test(path));
  return [
    '# Completes proctor in fish. Load it with: proctor completion fish | source',
    `set -g __proctor_paths ${paths.map(quoted).join(' ')}`,
    FUNCTIONS,
    'complete -c proctor -f',
    ...commands.flatMap(linesOf),
    '',
  ].join('\n');
}

function linesOf({ path, below, flags, places }: CompletedCommand): string[] {
  const here = `complete -c proctor -n ${quoted(`__proctor_at ${quoted(path)}`)}`;
  return [
    ...below.map(({ name, about }) => `${here} -a ${quoted(name)} -d ${quoted(about)}`),
    ...flags.map(({ names, about, value }) => {
      const named = names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
      return `${here} ${named.join(' ')}${value ? ` ${value.files === 'any' ? '-r' : '-x'}${valuesOf(value)}` : ''} -d ${quoted(about)}`;
    }),
    ...places.map(place => `${here}${valuesOf(place)}`).filter(line => line !== here),
  ];
}

function valuesOf({ words, runs, cases, files }: Completed): string {
  const values = [
    ...words,
    ...(runs ? ['(__proctor_runs)'] : []),
    ...(cases ? ['(__proctor_cases)'] : []),
    ...(files === 'folders' ? ['(__fish_complete_directories)'] : []),
  ];
  const listed = values.length > 0 ? ` -a ${quoted(values.join(' '))}` : '';
  return files === 'any' ? ` -F${listed}` : listed;
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;
}

/** Names of runs and cases come from a folder that anyone may have filled, so only plain names count, at most 500. */
const FUNCTIONS = `
# Whether the words so far name this command.
function __proctor_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        if contains -- "$next" $__proctor_paths
            set at $next
        end
    end
    test "$at" = "$argv[1]"
end

function __proctor_home
    set -l folder $PWD
    while test -n "$folder"; and not test -d "$folder/.proctor/runs"
        set folder (string replace -r '/[^/]*$' '' -- $folder)
    end
    echo $folder/.proctor
end

function __proctor_plain
    string replace -r '/$' '' -- $argv | string replace -r '.*/' '' | string match -r '^[A-Za-z0-9][A-Za-z0-9._-]*$' | head -n 500
end

function __proctor_runs
    set -l folders (__proctor_home)/runs/*/*/
    __proctor_plain $folders
end

function __proctor_cases
    for run in (__proctor_plain (commandline -opc)[2..-1])
        set -l files (__proctor_home)/runs/*/$run/*.json
        __proctor_plain $files | string match -v -r '^(run|seal|evaluation|.*-seal)\\.json$' | string replace -r '\\.json$' ''
    end
end
`;

import type { Completed, CompletedCommand } from './completion-words.ts';

/** bash and zsh share everything except how they receive the words and show what completes them. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completes proctor in bash. Load it with: source <(proctor completion bash)\n${shared(commands)}${BASH}`;
}

export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef proctor\n# Completes proctor in zsh. Load it after compinit with: source <(proctor completion zsh)\n${shared(commands)}${ZSH}`;
}

function shared(commands: readonly CompletedCommand[]): string {
  const below = commands.filter(command => command.below.length > 0);
  const flags = commands.filter(command => command.flags.length > 0);
  return [
    '',
    '# The commands below a command.',
    ...tableOf(
      '_proctor_below',
      '$1',
      below.map(({ path, below }) => [quoted(path), listed(below.map(({ name, about }) => `${name}:${about}`))]),
    ),
    '# The flags of a command.',
    ...tableOf(
      '_proctor_flags',
      '$1',
      flags.map(({ path, flags }) => [
        quoted(path),
        listed(flags.flatMap(({ names, about }) => names.map(name => `${name}:${about}`))),
      ]),
    ),
    '# What completes the value of a flag. Fails if the flag takes no value.',
    ...tableOf('_proctor_value', '$1 $2', valuePatterns(commands), 'return 1'),
    '# What completes an argument, by its position.',
    ...tableOf('_proctor_place', '$1 $2', placePatterns(commands)),
    LOOK,
  ].join('\n');
}

/** A function that sets `found`, `runs`, `cases` and `files` for each pattern. */
function tableOf(
  name: string,
  subject: string,
  rows: readonly (readonly [pattern: string, sets: string])[],
  otherwise?: string,
): string[] {
  return [
    `${name}() {`,
    `  case "${subject}" in`,
    ...rows.map(([pattern, sets]) => `    ${pattern}) ${sets} ;;`),
    ...(otherwise === undefined ? [] : [`    *) ${otherwise} ;;`]),
    '  esac',
    '}',
    '',
  ];
}

function listed(words: readonly string[]): string {
  return `found=(${words.map(quoted).join(' ')})`;
}

function valuePatterns(commands: readonly CompletedCommand[]): [string, string][] {
  const bySets = new Map<string, string[]>();
  for (const { path, flags } of commands) {
    for (const { names, value } of flags) {
      if (!value) continue;
      const sets = setsOf(value);
      bySets.set(sets, [...(bySets.get(sets) ?? []), ...names.map(name => quoted(`${path} ${name}`))]);
    }
  }
  return [...bySets].map(([sets, patterns]) => [patterns.join(' | '), sets]);
}

function placePatterns(commands: readonly CompletedCommand[]): [string, string][] {
  return commands.flatMap(({ path, places, isOpen }) =>
    places.map((place, index): [string, string] => {
      const isLast = isOpen && index === places.length - 1;
      return [isLast ? `${quoted(`${path} `)}*` : quoted(`${path} ${index}`), setsOf(place)];
    }),
  );
}

function setsOf({ words, runs, cases, files }: Completed): string {
  const sets = [
    ...(words.length > 0 ? [listed(words)] : []),
    ...(runs ? ['runs=1'] : []),
    ...(cases ? ['cases=1'] : []),
    ...(files === undefined ? [] : [`files=${files}`]),
  ];
  return sets.join(' ') || ':';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Finds what completes the last of its arguments. Names of runs and cases come from a folder that anyone may have
 * filled, so only plain names count, and no shell ever expands one.
 */
const LOOK = `# Finds the command, then what completes the last word: found (word:text), and files.
_proctor_look() {
  local at='' word='' flag='' args=() runs='' cases=''
  found=() files=''
  while [ $# -gt 1 ]; do
    word=$1
    shift
    if [ -n "$flag" ]; then
      flag=''
    elif [ "$word" = -- ]; then
      files=any
      return
    elif [[ $word == -* ]]; then
      if _proctor_value "$at" "$word"; then flag=$word; fi
      found=() runs='' cases='' files=''
    elif [ "$word" = help ]; then
      continue
    elif _proctor_is_below "$at" "$word"; then
      at="$at $word"
      at="\${at# }"
    else
      args+=("$word")
    fi
  done
  found=()
  if [ -n "$flag" ]; then
    _proctor_value "$at" "$flag"
  elif [[ $1 == -* ]]; then
    _proctor_flags "$at"
  else
    _proctor_below "$at"
    [ \${#found[@]} -gt 0 ] || _proctor_place "$at" \${#args[@]}
  fi
  if [ -n "$runs" ]; then _proctor_names; fi
  if [ -n "$cases" ]; then _proctor_names "\${args[@]}"; fi
}

_proctor_is_below() {
  local found=() one=''
  _proctor_below "$1"
  for one in "\${found[@]}"; do
    if [ "\${one%%:*}" = "$2" ]; then return 0; fi
  done
  return 1
}

# Adds the names of the runs in the nearest .proctor, or of the cases of one run, at most 500.
_proctor_names() {
  local folder=$PWD one='' count=0 plain='^[A-Za-z0-9][A-Za-z0-9._-]*$'
  while [ -n "$folder" ] && ! [ -d "$folder/.proctor/runs" ]; do folder=\${folder%/*}; done
  if [ $# -eq 0 ]; then
    set -- "$folder"/.proctor/runs/*/*/
  elif [[ $1 =~ $plain ]]; then
    set -- "$folder"/.proctor/runs/*/"$1"/*.json
  else
    return 0
  fi
  for one in "$@"; do
    one=\${one%/}
    one=\${one##*/}
    case $one in run.json | seal.json | evaluation.json | *-seal.json) continue ;; esac
    one=\${one%.json}
    if ! [[ $one =~ $plain ]]; then continue; fi
    found+=("$one")
    count=$((count + 1))
    if [ $count -ge 500 ]; then return 0; fi
  done
}
`;

const BASH = `
_proctor() {
  local found=() files='' line=() word='' cur=\${COMP_WORDS[COMP_CWORD]}
  # bash cuts --flag=value into three words.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ "$word" != = ]; then line+=("$word"); fi
  done
  if [ "$cur" = = ]; then cur=''; fi
  _proctor_look "\${line[@]}" "$cur"
  COMPREPLY=()
  for word in "\${found[@]}"; do
    word=\${word%%:*}
    if [[ $word == "$cur"* ]]; then COMPREPLY+=("$word"); fi
  done
  if [ "$files" = any ]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
  elif [ "$files" = folders ]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$cur")
  fi
  if [ -n "$files" ]; then compopt -o filenames 2> /dev/null || true; fi
}

complete -F _proctor proctor
`;

const ZSH = `
_proctor() {
  local found=() files=''
  # Only the lookup needs these options. The completion system sets its own.
  () {
    emulate -L zsh -o null_glob
    _proctor_look "$@"
  } "\${(@)words[2,CURRENT]}"
  if (( $#found > 0 )); then _describe -V 'proctor' found; fi
  if [ "$files" = any ]; then
    _files
  elif [ "$files" = folders ]; then
    _files -/
  fi
}

if [ "$funcstack[1]" = _proctor ]; then
  _proctor "$@"
else
  compdef _proctor proctor
fi
`;

/**
 * Returns a test for whether a path, or a folder above it, matches one of the patterns. `*` and `?` match within a name;
 * `**` matches any number of names. The time is at most the product of both lengths, because an agent names the paths.
 */
export function pathPattern(patterns: readonly string[]): (path: string) => boolean {
  const split = patterns.map(pattern => pattern.split('/').filter(name => name !== '' && name !== '.'));
  return path => {
    const names = path.split('/');
    return split.some(pattern => matches([...pattern, '**'], names, '**', nameMatches));
  };
}

function nameMatches(pattern: string, name: string): boolean {
  return matches(pattern.split(''), name.split(''), '*', (one, other) => one === '?' || one === other);
}

/** Matches two sequences. `star` matches any number of items; only the last one is ever tried again. */
function matches(
  pattern: readonly string[],
  items: readonly string[],
  star: string,
  same: (one: string, other: string) => boolean,
): boolean {
  let at = 0;
  let item = 0;
  let retry: { readonly at: number; item: number } | undefined;
  while (item < items.length) {
    const wanted = pattern[at];
    if (wanted === star) retry = { at: ++at, item };
    else if (wanted !== undefined && same(wanted, items[item] as string)) {
      at++;
      item++;
    } else if (retry) {
      at = retry.at;
      item = ++retry.item;
    } else return false;
  }
  return pattern.slice(at).every(rest => rest === star);
}

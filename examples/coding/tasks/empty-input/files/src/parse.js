/** Parses lines such as `name = value` into an object. Lines that start with `#` are comments. */
export function parse(text) {
  const settings = {};
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    const [name, value] = line.split('=');
    settings[name.trim()] = value.trim();
  }
  return settings;
}

/** A value in YAML: plain if no parser can misread it, otherwise quoted. */
export function yamlWord(text: string): string {
  const isPlain = PLAIN.test(text) && !/^[\d.+-]|^(?:true|false|null|yes|no|on|off)$/i.test(text);
  // JSON strings are YAML strings, and `$${` is a literal `${` in a declaration.
  return isPlain || URL_WITH_PORT.test(text) ? text : JSON.stringify(text);
}

export function yamlWords(words: readonly string[]): string {
  return `[${words.map(yamlWord).join(', ')}]`;
}

const PLAIN = /^[\w./:@-]*[\w./@-]$/;
const URL_WITH_PORT = /^http:\/\/127\.0\.0\.1:\$\{port\}[\w./-]*$/;

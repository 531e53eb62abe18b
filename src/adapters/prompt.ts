/**
 * Whether a text ends with a prompt for keyboard input. Callers pass a line that is not JSON, or a last line without a
 * line feed. It checks only the end, because a program waits after its prompt. Each pattern is limited, so it runs in
 * constant time.
 */
export function asksForInput(text: string): boolean {
  const tail = text.slice(-TAIL_UNITS).replaceAll(TERMINAL_CODES, '').trimEnd();
  const line = tail.slice(tail.lastIndexOf('\n') + 1).trimStart();
  if (line === '' || RECORD.test(line)) return false;
  return QUESTIONS.some(question => question.test(line));
}

const TAIL_UNITS = 512;

/** Colors and cursor movements. */
const TERMINAL_CODES = /\u001b\[[0-9;?]{0,16}[A-Za-z]/g;

/** JSON, and log lines that start with a time or a level, are not prompts. */
const RECORD = /^(?:[{"]|\[[{"\d\]]|\d{4}-\d\d-\d\d|\[?(?:trace|debug|info|notice|warn|warning|error|fatal)\b[\]:\s])/i;

const QUESTIONS: readonly RegExp[] = [
  // [y/N], (yes/no), (yes/no/[fingerprint])?
  /[[(](?:y|yes) ?[/|] ?(?:n|no)(?:[/|][^)]{1,20})?[\])] ?[?:>]?$/i,
  // Password:, Passphrase for key 'x':, Username for 'https://host':
  /^(?:\S{1,40} ){0,6}(?:password|passphrase|username|login|otp|pin|(?:one-time|verification|security|authori[sz]ation|auth) code|(?:api )?key|token)(?: for .{1,200})?(?: \([^)]{0,80}\))? ?:$/i,
  /\bpress (?:the )?[[<"']?(?:enter|return|any key)\b/i,
  /\bhit (?:enter|return)\b/i,
  /\bpaste\b.{0,80}\b(?:code|token|key|url)\b/i,
  /\b(?:enter|type|input|provide)\b.{0,120}[:>]$/i,
  /\b(?:do you (?:want|wish|trust|accept|agree)|would you like|are you sure|shall (?:i|we)|is this ok)\b.{0,300}\?(?: ?[[(][^\])]{0,40}[\])])? ?[:>]?$/i,
  /\b(?:continue|proceed|overwrite|replace|try again|retry|allow|install)\b.{0,80}\?(?: ?[[(][^\])]{0,40}[\])])? ?[:>]?$/i,
  // The menus of common libraries.
  /^\? \S/,
  /^❯ \S/,
  /\b(?:select|choose|pick) (?:an?|one|your|the)\b.{0,120}[:?>]$/i,
];

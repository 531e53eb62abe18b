/** Whether a text holds a stack trace, or a line of one. Looks at each line once, and only at its beginning. */
export function holdsTrace(text: string): boolean {
  return text.split('\n').some(line => TRACE.test(line.slice(0, LINE_MAX).trim()));
}

const LINE_MAX = 500;

/** How Python, Node, Java, Go, Rust, .NET and Ruby begin a trace, or a line in one. */
const TRACE = new RegExp(
  [
    /Traceback \(most recent call last\)/,
    /^File "[^"]{1,400}", line \d/,
    /^at .{1,200}\((?:[^()]{1,300}:\d{1,9}|[\w$-]{1,100}\.(?:java|kt|scala|groovy|cs)|native|Native Method|Unknown Source)\)$/,
    /^at \S{1,300}\.\w{1,6}:\d{1,9}(?::\d{1,9})?$/,
    /^goroutine \d{1,9} \[/,
    /panicked at /,
    /^Caused by: /,
    /^from [^ ]{1,300}:\d{1,9}:in /,
    /^Exception in thread /,
  ]
    .map(({ source }) => source)
    .join('|'),
);

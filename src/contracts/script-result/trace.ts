/** Whether a text contains a stack trace, or a frame of one, anywhere in a line. */
export function holdsTrace(text: string): boolean {
  return TRACE.test(text);
}

/** Extensions of source files. */
const SOURCE =
  '(?:[cm]?[jt]sx?|py|pyx|rb|erb|pl|pm|php|java|kt|scala|groovy|go|rs|cs|fs|vb|cpp|cc|c|hpp|h|swift|ex|exs|lua|sh)';

/** Traces and frames of common languages. Every repetition is bounded and follows a fixed prefix, so matching is fast. */
const TRACE = new RegExp(
  [
    // Python, even on one line.
    /Traceback \(most recent call last\)/.source,
    /File "[^"\n]{1,400}", line \d/.source,
    // A frame of Node, Java or .NET.
    /(?:^|\s)at [^\n(]{1,100}\((?:[^()\n]{1,300}:\d{1,9}|[\w$-]{1,100}\.(?:java|kt|scala|groovy|cs)|native|Native Method|Unknown Source|<anonymous>)\)/
      .source,
    /(?:^|\s)at (?:async |new )?[\w.$<>[\]/:-]{1,300}:\d{1,9}:\d{1,9}(?:\s|$)/.source,
    /(?:^|\s)at \S{1,300}\.\w{1,6}:\d{1,9}(?:\s|$)/.source,
    /(?:^|\s)at [\w.<>`+]{1,200}\([^()\n]{0,200}\) in /.source,
    /:line \d{1,9}(?:\s|$)/.source,
    // A position in a source file, as most languages write it.
    `\\w\\.${SOURCE}[:(]\\d`,
    `\\w\\.${SOURCE}["')]{0,2},? (?:on )?line \\d`,
    // Perl, even if the script has no file extension.
    / at \S{1,200} line \d{1,9}\.?(?:\s|$)/.source,
    // Ruby.
    /:\d{1,9}:in [`']/.source,
    // PHP.
    /Stack trace:/.source,
    /(?:^|\n)\s{0,20}#\d{1,4} \S/.source,
    // Go, Rust.
    /goroutine \d{1,9} \[/.source,
    /panicked at /.source,
    /(?:^|\s)\+0x[0-9a-f]{1,16}(?:\s|$)/.source,
    /stack backtrace:/.source,
    /Caused by: /.source,
    /Exception in thread /.source,
  ].join('|'),
);

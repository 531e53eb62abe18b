import type { Divergence } from '../contracts/comparison/index.ts';

/**
 * A divergence in a few words, such as "tool choice: orders.list instead of orders.get". It keeps the kind and the tools,
 * and drops what differs from case to case: arguments, documents, counts and messages.
 */
export function shortCause({ kind, says }: Pick<Divergence, 'kind' | 'says'>): string {
  const names: string[] = [];
  // A name may contain a full stop or a colon, so it is replaced by a number before the sentence is cut.
  const marked = says.replace(/“([^”]*)”/g, (_, name: string) => `“${names.push(name) - 1}”`);
  const [sentence = marked] = marked.split(/\. |\.$|: | \(only /, 1);
  const [pattern, short] = SHORT.find(([pattern]) => pattern.test(sentence)) ?? [/^/, ''];
  const text = sentence.replace(pattern, short).replace(/“(\d+)”/g, (_, index: string) => names[Number(index)] ?? '');
  return `${kind.replaceAll('_', ' ')}: ${text}`;
}

const NAME = '(“\\d+”)';
const MORE = `The candidate called ${NAME} (?:[\\d,]+ times|once)`;

/** The judge's sentences and their short forms. Others keep their first sentence. */
const SHORT: readonly (readonly [RegExp, string])[] = [
  [whole(`The candidate called ${NAME} where the baseline called ${NAME}`), '$1 instead of $2'],
  [whole(`The candidate proposed ${NAME} where the baseline proposed ${NAME}`), '$1 proposed instead of $2'],
  [whole(`The candidate called ${NAME} where the baseline (.+)`), '$1 called; the baseline $2'],
  [whole(`The candidate (.+) where the baseline called ${NAME}`), '$1 instead of calling $2'],
  [whole(`The candidate did not call ${NAME}`), '$1 not called'],
  [whole(`The candidate also called ${NAME}`), '$1 called in addition'],
  [whole(`The candidate did not propose the action ${NAME}`), '$1 not proposed'],
  [whole(`The candidate also proposed the action ${NAME}`), '$1 proposed in addition'],
  [whole(`The candidate called ${NAME} with different arguments`), '$1'],
  [whole(`The action ${NAME} has different parameters`), '$1'],
  [whole(`${MORE}(?: with the same arguments)?, and the baseline .*`), '$1 called a different number of times'],
  [whole(`The candidate called ${NAME} again after an error`), '$1 called again after an error'],
  [whole(`The result of ${NAME} was (\\w+) instead of (\\w+)`), '$1 returned $2 instead of $3'],
  [whole(`${NAME} received the same request but returned a different result`), '$1 returned a different result'],
  [whole(`The candidate called ${NAME} before ${NAME}, and the baseline .*`), '$1 before $2'],
  [whole('The candidate failed with ([^,]+)(?:, but the baseline .*)?'), '$1'],
  [whole('A different query (no longer|also) found .*'), 'a different query $1 found some documents'],
  [whole('The same query (no longer|also) found .*'), 'the same query $1 found some documents'],
  [whole('The candidate changed [\\d,]+ lines? where the baseline changed .*'), 'more lines changed'],
  [whole('Events .*, but (\\S+) differs between the two sides'), '$1 differs'],
  [/^After the same steps, /, ''],
  [/^The candidate /, ''],
];

function whole(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`);
}

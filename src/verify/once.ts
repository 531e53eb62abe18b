/** Caches the results of a function that takes a file. */
export function once<Answer>(ask: (file: string) => Answer): (file: string) => Answer {
  const answers = new Map<string, Answer>();
  return file => {
    if (!answers.has(file)) answers.set(file, ask(file));
    return answers.get(file) as Answer;
  };
}

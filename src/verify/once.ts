/** Caches the answers of a function of one file. */
export function once<Answer>(ask: (file: string) => Answer): (file: string) => Answer {
  const answers = new Map<string, Answer>();
  return file => {
    if (!answers.has(file)) answers.set(file, ask(file));
    return answers.get(file) as Answer;
  };
}

/** The id of a run. On a narrow screen its line ends where one of its words does. */
export function RunId({ value }: { readonly value: string }) {
  const [first, ...others] = value.split('_');
  return (
    <code class="run-id">
      {first}
      {others.map((word, index) => (
        <span key={index}>
          _<wbr />
          {word}
        </span>
      ))}
    </code>
  );
}

/** The id of a run. On a narrow screen it breaks between its parts. */
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

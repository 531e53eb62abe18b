import { spanContextIn, traceparentOf } from '../../trace/traceparent.ts';

/** The header that lets the target continue the trace. A header that the user declares comes first. */
export function traceHeaders(
  trace: string | undefined,
  declared: Readonly<Record<string, string>>,
): { readonly traceparent?: string } {
  const context = spanContextIn(trace);
  if (!context || Object.keys(declared).some(name => name.toLowerCase() === 'traceparent')) return {};
  return { traceparent: traceparentOf(context) };
}

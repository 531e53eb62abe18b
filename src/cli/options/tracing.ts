import type { Tracing } from '../../verbs/tracing.ts';
import { stderr } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';

/** The traces of this process; undefined if no variable asks for them. Then it loads nothing. */
export async function tracingHere(beforeWarning: () => void = () => undefined): Promise<Tracing | undefined> {
  if (!ENDPOINTS.some(name => process.env[name])) return undefined;
  const { openTracing } = await import('../../verbs/tracing.ts');
  return openTracing(process.env, sentence => {
    beforeWarning();
    stderr.write(`${paintFor(2)('note', 'warning')}: ${sentence}\n`);
  });
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

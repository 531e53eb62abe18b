import type { PageCase } from '../../src/reports/page-data.ts';
import { milliseconds, sideName } from '../shared/format.ts';
import { Section } from '../shared/section.tsx';
import { JsonView } from '../shared/values.tsx';
import { Text } from '../shared/visible.tsx';

/** Why a side has no answer. */
export function Failure({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const sides = (isRun ? (['new'] as const) : (['baseline', 'new'] as const)).flatMap(side => {
    const failure = data[side]?.runner_failure;
    return failure ? [{ side, failure }] : [];
  });
  if (sides.length === 0) return null;
  return (
    <Section title="No answer to judge">
      {sides.map(({ side, failure }) => {
        const {
          class: name,
          status,
          status_text,
          error_message,
          latency_ms,
          timeout_ms,
          body_snippet,
          full_body_saved_to: href,
        } = failure;
        const body = (href && data.assets[side][href]) || body_snippet;
        return (
          <div class="failure" key={side} data-at={`${side}:runner_failure`} tabIndex={-1}>
            <p>
              <span class="tag">{sideName(side)}</span> <strong>{name.replaceAll('_', ' ')}</strong>{' '}
              {[
                status && `HTTP ${status} ${status_text ?? ''}`.trim(),
                error_message,
                latency_ms !== undefined && `after ${milliseconds(latency_ms)}`,
                timeout_ms !== undefined && `limit ${milliseconds(timeout_ms)}`,
              ]
                .filter(part => typeof part === 'string' && part !== '')
                .map((part, index) => (
                  <span key={index} class="muted">
                    {index > 0 && ' · '}
                    <Text value={String(part)} />
                  </span>
                ))}
            </p>
            {body && <JsonView value={body} />}
            {href && (
              <p class="note">
                The body as it was received: <code>{href}</code>
              </p>
            )}
          </div>
        );
      })}
    </Section>
  );
}

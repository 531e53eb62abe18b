import { countIn, nameIn, objectIn, type StreamObject } from './json-values.ts';

/** The input tokens of one model answer. */
export interface ModelTurn {
  /** Lines with the same id belong to one answer. */
  readonly id: string;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
}

/**
 * The answer that a line of Claude's stream belongs to; undefined for other lines. Claude states the output tokens of
 * an answer before it is complete, so they are not read here.
 */
export function claudeTurn(said: StreamObject): ModelTurn | undefined {
  if (said['type'] !== 'assistant') return undefined;
  const message = objectIn(said['message']);
  const usage = objectIn(message?.['usage']);
  const id = nameIn(message?.['id']);
  if (!usage || id === null || message?.['model'] === '<synthetic>') return undefined;
  const cached = countIn(usage['cache_read_input_tokens']);
  const parts = [countIn(usage['input_tokens']), cached, countIn(usage['cache_creation_input_tokens'])];
  const known = parts.filter(part => part !== null);
  return {
    id,
    inputTokens: known.length === 0 ? null : known.reduce((sum, part) => sum + part, 0),
    cachedTokens: cached,
  };
}

import { LineCutter } from '../../base/line-cutter.ts';
import { readJson } from '../../base/json.ts';
import { isObject } from '../../contracts/kind.ts';

/**
 * Watches a model's streamed answer for calls to tools that ask the user. Some agents answer such a call themselves and
 * do not report it. Keeps one line at a time and parses only lines that contain a tool name.
 */
export class QuestionDetector {
  readonly #tools: readonly string[];
  readonly #cutter = new LineCutter(EVENT_BYTES_MAX);
  heard: string | undefined;

  constructor(tools: readonly string[]) {
    this.#tools = tools;
  }

  take(chunk: Buffer): void {
    this.#cutter.take(chunk, line => {
      if (line === null || this.heard !== undefined || !this.#tools.some(tool => line.includes(tool))) return;
      const [, json] = /^data: ?(\{.*)$/s.exec(line.toString()) ?? [];
      const reading = json === undefined ? undefined : readJson(Buffer.from(json), { bytesMax: EVENT_BYTES_MAX });
      const called = reading?.ok ? callIn(reading.value) : undefined;
      if (called !== undefined && this.#tools.includes(called)) this.heard = called;
    });
  }
}

/** The tool that an event calls. Anthropic uses `content_block`, OpenAI `item`. */
function callIn(event: unknown): string | undefined {
  if (!isObject(event)) return undefined;
  const call = [event['content_block'], event['item']].find(isObject);
  const isCall = call?.['type'] === 'tool_use' || call?.['type'] === 'function_call';
  return isCall && typeof call['name'] === 'string' ? call['name'] : undefined;
}

const EVENT_BYTES_MAX = 1024 * 1024;

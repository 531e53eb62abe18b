import type { Readable } from 'node:stream';

/** Yields the lines of a stream as they arrive. Stops at a line of more than 64 KiB. */
export async function* lines(stream: Readable): AsyncGenerator<string> {
  let held = '';
  stream.setEncoding('utf8');
  for (;;) {
    for (let chunk = stream.read() as string | null; chunk !== null; chunk = stream.read() as string | null) {
      held += chunk;
    }
    for (let at = held.indexOf('\n'); at >= 0; at = held.indexOf('\n')) {
      const line = held.slice(0, at);
      held = held.slice(at + 1);
      yield line;
    }
    if (held.length > LINE_MAX || stream.readableEnded || stream.destroyed) return;
    await readable(stream);
  }
}

/** The next line; undefined if the stream ends first. Discards any bytes after it in the same read. */
export async function firstLine(stream: Readable): Promise<string | undefined> {
  for await (const line of lines(stream)) return line;
  return undefined;
}

const LINE_MAX = 64 * 1024;

function readable(stream: Readable): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      for (const event of EVENTS) stream.off(event, done);
      resolve();
    };
    for (const event of EVENTS) stream.on(event, done);
  });
}

const EVENTS = ['readable', 'end', 'close', 'error'] as const;

export function textSoFar(stream: Readable): string {
  stream.setEncoding('utf8');
  return String(stream.read() ?? '');
}

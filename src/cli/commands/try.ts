import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { type Tried, type TriedExchange, tryTarget } from '../../verbs/try-target.ts';
import { REPLY_REPAIRS, type RepairId } from '../../verbs/try-target.ts';
import { interruptions } from '../options/interruptions.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { durationText } from '../text/units.ts';

interface Flags {
  readonly context?: string;
  readonly timeout?: number;
  readonly strictReplies?: true;
  readonly json?: true;
}

/** Exit code 0 if the target answered, 1 if it did not. */
export async function tryCommand(target: string, text: string, flags: Flags): Promise<number> {
  const interrupt = interruptions();
  try {
    const tried = await tryTarget({
      target,
      text,
      environment: process.env,
      signal: interrupt.signal,
      ...(flags.context !== undefined && { context: contextIn(flags.context) }),
      ...(flags.timeout !== undefined && { timeoutMs: flags.timeout }),
      ...(flags.strictReplies && { strictReplies: true }),
    });
    stdout.write(flags.json ? `${printableJson(asJson(tried))}\n` : triedText(tried, paintFor(1)));
    return interrupt.exit() ?? (tried.artifact.status === 'ok' ? 0 : 1);
  } catch (error) {
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    interrupt.end();
  }
}

function contextIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault('usage', '--context must be JSON, such as \'{"locale":"en"}\'.');
  }
}

function asJson({ target, exchanges, result, places, repairs, artifact }: Tried): object {
  return {
    target: target.name,
    kind: target.declaration.kind,
    latency_ms: result.latencyMs,
    ttft_ms: result.ttftMs ?? null,
    exchanges: exchanges.map(({ contentType, ...exchange }) => ({ ...exchange, content_type: contentType })),
    repairs,
    mapping: places.map(({ place, form, isFound, found }) => ({ place, form, found: isFound, value: found ?? null })),
    artifact,
  };
}

function triedText(tried: Tried, paint: Paint): string {
  const { exchanges, places, repairs, artifact } = tried;
  const blocks = [
    [headline(tried, paint)],
    ...exchanges.map(exchange => exchangeLines(exchange, paint)),
    ...(places.length > 0 ? [mappingLines(places, paint)] : []),
    ...(Object.keys(repairs).length > 0 ? [titled('repairs', repairLines(repairs), paint)] : []),
    titled('artifact', jsonLines(artifact, ARTIFACT_LINES), paint),
  ];
  const advice =
    artifact.status === 'ok' || places.length === 0
      ? []
      : [[paint('faint', `Compare the request and the mapping with your API, correct the target, and try again.`)]];
  return `${[...blocks, ...advice].map(lines => lines.join('\n')).join('\n\n')}\n`;
}

function headline({ target, result, artifact }: Tried, paint: Paint): string {
  const isGood = artifact.status === 'ok';
  const mark = isGood ? paint('good', '✓') : paint('bad', '✗');
  const first = result.ttftMs === undefined ? '' : `, first output after ${durationText(result.ttftMs)}`;
  const why = isGood ? '' : `\n  ${printable(artifact.runner_failure?.error_message ?? '')}`;
  const state = paint('strong', isGood ? 'answered' : 'no answer');
  return `${mark} ${state}  ${printable(target.name)} (${target.declaration.kind}), ${durationText(result.latencyMs)}${first}${why}`;
}

function exchangeLines(
  { request, status, ended, contentType, reply, log = '' }: TriedExchange,
  paint: Paint,
): string[] {
  const sent = [
    `${request.method} ${printable(request.path)}`,
    ...request.headers.map(printable),
    ...bodyLines(request.body, BODY_LINES),
  ];
  const state =
    status === null
      ? ended.replace('_', ' ')
      : `status ${status}${ended === 'complete' ? '' : `, ${ended.replace('_', ' ')}`}`;
  const received = [
    `${state}${contentType === null ? '' : `, ${printable(contentType)}`}`,
    ...bodyLines(reply, BODY_LINES),
  ];
  const printed = log === '' ? [] : ['', ...titled('log', bodyLines(log, BODY_LINES), paint)];
  return [...titled('request', sent, paint), '', ...titled('reply', received, paint), ...printed];
}

function mappingLines(places: Tried['places'], paint: Paint): string[] {
  const width = Math.max(...places.map(({ place }) => place.length));
  const lines = places.map(({ place, form, isFound, found }) => {
    const mark = isFound ? paint('good', '✓') : paint('note', '–');
    const seen = isFound
      ? paint('faint', found === undefined ? '' : `  ${printable(found)}`)
      : paint('note', '  found nothing');
    return `${mark} ${place.padEnd(width)}  ${printable(clipped(form))}${seen}`;
  });
  return titled('mapping', lines, paint);
}

function repairLines(repairs: Tried['repairs']): string[] {
  return Object.entries(repairs).map(([id, count]) => `${id} × ${count}  ${REPLY_REPAIRS[id as RepairId]}`);
}

function titled(title: string, lines: readonly string[], paint: Paint): string[] {
  return lines.map((line, index) => `${index === 0 ? paint('strong', title.padEnd(9)) : ' '.repeat(9)} ${line}`);
}

/** JSON is indented; any other text stays as it is. */
function bodyLines(body: string, linesMax: number): string[] {
  if (body === '') return [];
  try {
    return jsonLines(JSON.parse(body), linesMax);
  } catch {
    return cut(
      body.split('\n').map(line => printable(clipped(line))),
      linesMax,
    );
  }
}

function jsonLines(value: unknown, linesMax: number): string[] {
  return cut(
    JSON.stringify(value, null, 2)
      .split('\n')
      .map(line => printable(clipped(line))),
    linesMax,
  );
}

function cut(lines: readonly string[], linesMax: number): string[] {
  if (lines.length <= linesMax) return [...lines];
  return [...lines.slice(0, linesMax), `… ${lines.length - linesMax} more lines; use --json to see all`];
}

function clipped(text: string): string {
  return text.length <= LINE_UNITS_MAX ? text : `${text.slice(0, LINE_UNITS_MAX)}…`;
}

const BODY_LINES = 40;
const ARTIFACT_LINES = 60;
const LINE_UNITS_MAX = 160;

import type { ClippedText, TranscriptLine } from '../../contracts/agent-step/reading.ts';
import { AGENT_FILES } from '../../evidence/agent/agent-documents.ts';
import type { AgentPage, AgentRow, AgentTurn, CutText } from './agent-page-data.ts';

/** The input tokens of one model answer, as the agent reports them, and the stream line that reports them. */
export interface TurnInput {
  readonly nativeLine: number;
  /** Lines with the same id belong to one answer. */
  readonly id: string;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
}

export interface FoldedRows extends Pick<AgentPage, 'rows' | 'omitted' | 'calls' | 'endMs'> {
  readonly turns: readonly AgentTurn[];
  readonly turnsTotal: number;
  readonly lastCommand: LastCommand | null;
}

interface LastCommand {
  readonly seq: number;
  readonly about: string;
  readonly state: NonNullable<AgentRow['state']>;
  readonly exit: number | null;
}

/** The rows of a transcript, in memory that does not grow with the transcript: the first ones and the last ones. */
export function foldedRows(lines: Iterable<TranscriptLine>, turns: Iterable<TurnInput> = []): FoldedRows {
  const fold = new RowFold(turns);
  for (const line of lines) fold.take(line);
  return fold.end();
}

/** The rows kept at each end of a long transcript. */
const ROWS_MAX = 1_000;
/** The turns kept at each end. */
const TURNS_MAX = 250;
const TEXT_UNITS_MAX = 16_000;
const ABOUT_UNITS_MAX = 400;
const REASON_UNITS_MAX = 1_000;
/** All texts together. Each text gets shorter until they fit. */
const TEXTS_UNITS_MAX = 4_000_000;
const TEXT_UNITS_MIN = 250;
const OPEN_MAX = 10_000;

type Growing = { -readonly [Key in keyof AgentRow]: AgentRow[Key] };
type GrowingTurn = { -readonly [Key in keyof AgentTurn]: AgentTurn[Key] };

/** Keeps the first and the last items of a list. */
class Ends<Item> {
  readonly first: Item[] = [];
  readonly last: Item[] = [];
  readonly max: number;
  count = 0;

  constructor(max: number) {
    this.max = max;
  }

  add(item: Item): Item {
    this.count++;
    if (this.first.length < this.max) this.first.push(item);
    else if (this.last.push(item) > this.max) this.last.shift();
    return item;
  }

  get all(): Item[] {
    return [...this.first, ...this.last];
  }
}

class RowFold {
  readonly #rows = new Ends<Growing>(ROWS_MAX);
  readonly #turns = new Ends<GrowingTurn>(TURNS_MAX);
  readonly #open = new Map<string, Growing>();
  readonly #calls = { total: 0, failed: 0, denied: 0 };
  readonly #inputs: Iterator<TurnInput>;
  #input: TurnInput | undefined;
  #answer = '';
  #isAnswering = false;
  #turn: GrowingTurn | undefined;
  #lastAtMs = 0;
  #inFlight = 0;
  #retry: Growing | undefined;
  #changed = '';
  #lastCommand: Growing | undefined;
  #lastMessage: string | undefined;

  constructor(turns: Iterable<TurnInput>) {
    this.#inputs = turns[Symbol.iterator]();
    this.#input = this.#nextInput();
  }

  take(line: TranscriptLine): void {
    const waited = this.#inFlight === 0 ? Math.max(0, line.at_ms - this.#lastAtMs) : 0;
    this.#lastAtMs = Math.max(this.#lastAtMs, line.at_ms);
    if (isAnswer(line)) this.#answered(line);
    else if (line.kind === 'tool_result') this.#isAnswering = false;
    if (this.#turn) this.#turn.waitedMs += waited;
    const row = this.#row(line, waited);
    if (line.kind !== 'retry' && row) this.#retry = undefined;
  }

  end(): FoldedRows {
    const { all: rows, first, count } = this.#rows;
    const last = this.#lastCommand;
    return {
      rows: fitted(rows),
      omitted: { after: first.length, count: count - rows.length, file: AGENT_FILES.transcript },
      calls: this.#calls,
      endMs: this.#lastAtMs,
      turns: this.#turns.all,
      turnsTotal: this.#turns.count,
      lastCommand: last?.state
        ? { seq: last.seq, about: last.about ?? '', state: last.state, exit: last.exit ?? null }
        : null,
    };
  }

  /** Starts a turn with the first line of a model answer. */
  #answered({ seq, native_line }: TranscriptLine): void {
    while (this.#input && this.#input.nativeLine < native_line) this.#input = this.#nextInput();
    const input = this.#input?.nativeLine === native_line ? this.#input : undefined;
    const isNew = input === undefined ? !this.#isAnswering : input.id !== this.#answer;
    this.#isAnswering = true;
    if (!isNew) return;
    this.#answer = input?.id ?? '';
    this.#turn = this.#turns.add({
      turn: this.#turns.count + 1,
      seq,
      calls: 0,
      waitedMs: 0,
      toolsMs: 0,
      inputTokens: input?.inputTokens ?? null,
      cachedTokens: input?.cachedTokens ?? null,
    });
  }

  #nextInput(): TurnInput | undefined {
    const next = this.#inputs.next();
    return next.done === true ? undefined : next.value;
  }

  #row(line: TranscriptLine, waited: number): Growing | undefined {
    switch (line.kind) {
      case 'message':
        this.#lastMessage = line.body.text;
        return this.#add(line, waited, { kind: line.role === 'user' ? 'user' : 'message', text: cut(line.body) });
      case 'thinking':
        return this.#add(line, waited, { kind: 'thinking', text: cut(line.body) });
      case 'tool_call':
        return this.#called(line, waited);
      case 'tool_result':
        return this.#returned(line, waited);
      case 'denial':
        return this.#denied(line, waited);
      case 'file_change':
        // The call already shows the file.
        if (line.path === this.#changed) return undefined;
        return this.#add(line, waited, {
          kind: 'change',
          tool: line.change,
          about: line.path.slice(0, ABOUT_UNITS_MAX),
        });
      case 'retry':
        return this.#retried(line, waited);
      case 'note':
        return this.#add(line, waited, { kind: 'note', tool: line.level, text: cut({ text: line.text }) });
      case 'final':
        return this.#add(line, waited, {
          kind: 'final',
          state: line.ok ? 'ok' : 'failed',
          // Most agents repeat their last message here.
          ...(line.body && line.body.text !== this.#lastMessage && { text: cut(line.body) }),
        });
      default:
        return undefined;
    }
  }

  #add({ seq, at_ms: at }: TranscriptLine, waited: number, rest: Pick<Growing, 'kind'> & Partial<Growing>): Growing {
    return this.#rows.add({ seq, at, turn: this.#turns.count, ...(waited > 0 && { waited }), ...rest });
  }

  #called(line: TranscriptLine & { kind: 'tool_call' }, waited: number): Growing {
    const { tool, call, command, path, input } = line;
    const about = command?.text ?? path ?? (input.text === '{}' ? '' : input.text);
    const row = this.#add(line, waited, {
      kind: 'call',
      tool,
      about: oneLine(about).slice(0, ABOUT_UNITS_MAX),
      ...(input.text !== '{}' && { input: cut(input) }),
      state: null,
    });
    this.#calls.total++;
    this.#inFlight++;
    if (this.#turn) this.#turn.calls++;
    if (command) this.#lastCommand = row;
    this.#open.set(call, row);
    // Some calls never get a result.
    if (this.#open.size > OPEN_MAX) this.#open.delete(this.#open.keys().next().value as string);
    return row;
  }

  #returned(line: TranscriptLine & { kind: 'tool_result' }, waited: number): Growing | undefined {
    const { call, at_ms, ok, exit_code, output } = line;
    const row = this.#open.get(call);
    const text = output.text === '' ? {} : { text: cut(output) };
    if (!row || row.took !== undefined)
      return this.#add(line, waited, { kind: 'result', state: ok ? 'ok' : 'failed', ...text });
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    this.#changed = row.about ?? '';
    Object.assign(row, { took: Math.max(0, at_ms - row.at), ...text, ...(exit_code !== null && { exit: exit_code }) });
    if (this.#turn) this.#turn.toolsMs += row.took ?? 0;
    row.state ??= ok ? 'ok' : 'failed';
    if (row.state === 'failed') this.#calls.failed++;
    return row;
  }

  #denied(line: TranscriptLine & { kind: 'denial' }, waited: number): Growing {
    this.#calls.denied++;
    const reason = line.reason.slice(0, REASON_UNITS_MAX);
    const row = line.call === null ? undefined : this.#open.get(line.call);
    if (!row) return this.#add(line, waited, { kind: 'denial', tool: line.tool, state: 'denied', reason });
    if (row.state === 'failed') this.#calls.failed--;
    return Object.assign(row, { state: 'denied', reason });
  }

  /** Merges consecutive retries into one row. */
  #retried(line: TranscriptLine & { kind: 'retry' }, waited: number): Growing {
    const { at_ms, message, status } = line;
    const text = cut({ text: status === null ? message : `${status}: ${message}` });
    if (this.#retry) return Object.assign(this.#retry, { text, took: at_ms - this.#retry.at });
    this.#retry = this.#add(line, waited, { kind: 'retry', tool: 'retry', text, took: 0 });
    return this.#retry;
  }
}

/** Whether a line is part of a model answer. */
function isAnswer(line: TranscriptLine): boolean {
  return (
    line.kind === 'thinking' || line.kind === 'tool_call' || (line.kind === 'message' && line.role === 'assistant')
  );
}

function oneLine(text: string): string {
  const lines = text.slice(0, 4 * ABOUT_UNITS_MAX).split('\n');
  return lines.flatMap(line => line.trim() || []).join(' ⏎ ');
}

function cut({ text, bytes_total }: ClippedText): CutText {
  return text.length <= TEXT_UNITS_MAX
    ? { text, ...(bytes_total !== undefined && { total: bytes_total }) }
    : { text: text.slice(0, TEXT_UNITS_MAX).toWellFormed(), total: bytes_total ?? Buffer.byteLength(text) };
}

/** Shortens the longest texts until all of them fit into the page. */
function fitted(rows: readonly Growing[]): readonly AgentRow[] {
  const sizes = rows.flatMap(({ text, input }) => [text?.text.length ?? 0, input?.text.length ?? 0]);
  let unitsMax = TEXT_UNITS_MAX;
  const sum = (): number => sizes.reduce((all, size) => all + Math.min(size, unitsMax), 0);
  while (unitsMax > TEXT_UNITS_MIN && sum() > TEXTS_UNITS_MAX) unitsMax = Math.max(TEXT_UNITS_MIN, unitsMax / 2);
  if (unitsMax === TEXT_UNITS_MAX) return rows;
  const shorter = (all: CutText | undefined): CutText | undefined =>
    all && all.text.length > unitsMax
      ? { text: all.text.slice(0, unitsMax).toWellFormed(), total: all.total ?? Buffer.byteLength(all.text) }
      : all;
  for (const row of rows) {
    const [text, input] = [shorter(row.text), shorter(row.input)];
    Object.assign(row, text && { text }, input && { input });
  }
  return rows;
}

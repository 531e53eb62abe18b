import * as z from 'zod/mini';
import { canonicalize } from '../../base/canonical.ts';
import { type Clock, instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { contentHashText, count, instant, record } from '../../contracts/shape.ts';
import { inTurn } from '../../verbs/server-home.ts';
import { LineFile } from '../state/line-file.ts';
import { isShaped } from '../state/shaped.ts';
import type { Person } from './identity.ts';

/** One act: who did what to which thing. It never contains a body or a secret. */
export interface AuditAct {
  /** Null for a request without an identity. */
  readonly who: Person | null;
  /** The name of the route. */
  readonly verb: string;
  /** The id of what it acts on, such as a run id. */
  readonly thing: string | null;
  readonly correlationId: string;
}

/** An act that has begun. Its end may name what it made, such as a new token. */
export interface AuditNote {
  end(outcome: AuditOutcome, code?: string, made?: string): void;
}

export type AuditOutcome = 'done' | 'refused' | 'failed' | 'unknown';

const lineShape = record({
  schema_version: z.literal('server-audit.v0'),
  sequence: count(),
  /** The hash of the line before, with its line feed; null for the first. */
  previous_sha256: z.nullable(contentHashText()),
  at: instant(),
  correlation_id: z.string(),
  who: z.nullable(z.string()),
  name: z.nullable(z.string()),
  role: z.nullable(z.string()),
  verb: z.string(),
  thing: z.nullable(z.string()),
  /** Null while the act goes on; a later line has the outcome. */
  outcome: z.nullable(z.enum(['done', 'refused', 'failed', 'unknown'])),
  /** The code of a refusal or fault. */
  code: z.nullable(z.string()),
  /** The line that noted the beginning of the act; null if this line is the only one. */
  began: z.nullable(count()),
});

export type AuditLine = z.infer<typeof lineShape>;

const LIMITS = { lineBytesMax: 8 * 1024, fileBytesMax: 64 * 1024 * 1024, filesMax: 64 };
/** Fields come from outside, so each has a limit, in UTF-16 units. */
const FIELD_LENGTH_MAX = 256;
const PAGE_MAX = 200;
const SYNC_MS = 1_000;

/** The lock that writers of the log take for each line. */
const LOCK = 'audit.lock';

/**
 * The audit log: a hash chain of lines. A line is written before each act and one after it, so that an act which the
 * server did not survive is there too. If the first cannot be written, the act does not happen. Commands in a terminal
 * write to the log of a running server; every writer continues the chain where the last one left it.
 */
export class Audit {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #file: LineFile;
  /** Bytes of incomplete lines that a line of the log reports. */
  #repairedBytes = 0;
  #sequence = 0;
  #previous: AuditLine['previous_sha256'] = null;
  /** Acts whose beginning is noted and whose outcome is not, by the sequence of that line. */
  readonly #open = new Map<number, AuditAct>();
  /** Outcomes that a full disk kept from being written. They come before the next act. */
  readonly #late: (() => void)[] = [];
  #syncing: NodeJS.Timeout | undefined;

  constructor(folder: string, clock: Clock, limits = LIMITS, { isServer = true } = {}) {
    this.#folder = folder;
    this.#clock = clock;
    this.#file = inTurn(folder, LOCK, () => new LineFile(folder, 'audit', limits));
    this.#resume();
    if (isServer) this.#endCutActs();
    if (this.#file.cutBytes > 0) this.#orFault(() => this.#turn(() => undefined));
  }

  /** The log as a command writes it: acts without an outcome may be those of a running server. */
  static ofCommand(folder: string, clock: Clock): Audit {
    return new Audit(folder, clock, LIMITS, { isServer: false });
  }

  /** Notes that an act begins. Throws a fault if it cannot, and the act must not happen. */
  begin(act: AuditAct): AuditNote {
    this.#write(act, { outcome: null, code: null, began: null });
    const began = this.#sequence;
    this.#open.set(began, act);
    return {
      end: (outcome, code, made) => {
        if (!this.#open.delete(began)) return;
        const thing = made ?? act.thing;
        const write = (): void => this.#line({ ...act, thing }, { outcome, code: code ?? null, began });
        try {
          write();
        } catch {
          this.#late.push(write);
        }
      },
    };
  }

  /** Notes an act that is already over, such as a refusal. Throws a fault if it cannot. */
  note(act: AuditAct, outcome: AuditOutcome, code?: string): void {
    this.#write(act, { outcome, code: code ?? null, began: null });
  }

  /** The newest acts before a sequence number: outcomes, and acts that go on. */
  page({ before, limit }: { readonly before?: number | undefined; readonly limit: number }): {
    readonly lines: AuditLine[];
    /** The `before` of the next page; null on the last. */
    readonly next: number | null;
  } {
    const lines: AuditLine[] = [];
    const countMax = Math.min(Math.max(1, limit), PAGE_MAX);
    const isLater = (text: string): boolean => before !== undefined && (lineOf(text)?.sequence ?? 0) >= before;
    for (const text of this.#file.backwards(isLater)) {
      const line = lineOf(text);
      if (!line || (before !== undefined && line.sequence >= before)) continue;
      // The line with the outcome says everything that this one says.
      if (line.outcome === null && !this.#open.has(line.sequence)) continue;
      if (lines.length === countMax) return { lines, next: lines.at(-1)?.sequence ?? null };
      lines.push(line);
    }
    return { lines, next: null };
  }

  close(): void {
    clearTimeout(this.#syncing);
    for (const write of this.#late.splice(0)) tryTo(write);
    tryTo(() => this.#file.sync());
    this.#file.close();
  }

  #write(act: AuditAct, rest: Pick<AuditLine, 'outcome' | 'code' | 'began'>): void {
    this.#orFault(() => {
      for (let late = this.#late[0]; late; late = this.#late[0]) {
        late();
        this.#late.shift();
      }
      this.#line(act, rest);
    });
  }

  #orFault(write: () => void): void {
    try {
      write();
    } catch (cause) {
      throw new Fault(
        'audit_failed',
        'The audit log could not be written, so nothing was done. The operator must free disk space.',
        { cause },
      );
    }
  }

  #line(act: AuditAct, rest: Pick<AuditLine, 'outcome' | 'code' | 'began'>): void {
    this.#turn(() => this.#append(act, rest));
  }

  /** Writes while no other process does, after what others wrote. */
  #turn(write: () => void): void {
    inTurn(this.#folder, LOCK, () => {
      if (this.#file.catchUp()) this.#resume();
      const tornBytes = this.#file.cutBytes - this.#repairedBytes;
      this.#repairedBytes += tornBytes;
      if (tornBytes > 0) {
        const act = { who: null, verb: 'audit.repair', thing: `${tornBytes} bytes`, correlationId: '' };
        this.#append(act, { outcome: 'done', code: 'torn_line', began: null });
      }
      write();
    });
  }

  #append({ who, verb, thing, correlationId }: AuditAct, rest: Pick<AuditLine, 'outcome' | 'code' | 'began'>): void {
    const line: AuditLine = {
      schema_version: 'server-audit.v0',
      sequence: this.#sequence + 1,
      previous_sha256: this.#previous,
      at: instantText(this.#clock.now()),
      correlation_id: short(correlationId),
      who: who && short(who.id),
      name: who && short(who.name),
      role: who && who.role,
      verb: short(verb),
      thing: thing === null ? null : short(thing),
      ...rest,
    };
    const text = canonicalize(line);
    this.#file.append(text);
    this.#sequence = line.sequence;
    this.#previous = bytesHash(`${text}\n`);
    this.#syncing ??= setTimeout(() => {
      this.#syncing = undefined;
      tryTo(() => this.#file.sync());
    }, SYNC_MS).unref();
  }

  /** Continues after the last line, whoever wrote it. */
  #resume(): void {
    this.#sequence = 0;
    this.#previous = null;
    for (const text of this.#file.backwards()) {
      const line = lineOf(text);
      if (!line) throw broken();
      this.#sequence = line.sequence;
      this.#previous = bytesHash(`${text}\n`);
      return;
    }
  }

  /** Ends the acts that the last server began. */
  #endCutActs(): void {
    const ended = new Set<number>();
    const cut: AuditLine[] = [];
    const last = this.#sequence;
    for (const text of this.#file.backwards(first => isLongAgo(last, lineOf(first)))) {
      const line = lineOf(text);
      if (!line) throw broken();
      if (last - line.sequence > OPEN_WITHIN_LINES) break;
      if (line.began !== null) ended.add(line.began);
      else if (line.outcome === null && !ended.has(line.sequence)) cut.push(line);
    }
    for (const { who, name, role, verb, thing, correlation_id: correlationId, sequence } of cut.reverse()) {
      const person = who === null ? null : { id: who, name: name ?? '', role: role as Person['role'] };
      const act = { who: person, verb, thing, correlationId };
      this.#write(act, { outcome: 'unknown', code: 'server_stopped', began: sequence });
    }
  }
}

/** A server has far fewer requests in flight, so an older act has its outcome. */
const OPEN_WITHIN_LINES = 20_000;

function isLongAgo(last: number, first: AuditLine | undefined): boolean {
  return first !== undefined && last - first.sequence > 10 * OPEN_WITHIN_LINES;
}

function lineOf(text: string): AuditLine | undefined {
  const reading = readJson(Buffer.from(text), { bytesMax: LIMITS.lineBytesMax });
  return reading.ok && isShaped(reading.value, lineShape) ? (reading.value as AuditLine) : undefined;
}

function broken(): Fault {
  return new Fault(
    'audit_broken',
    'A line of .proctor/server/audit.ndjson is not valid. Move the audit files elsewhere and start again.',
  );
}

function short(text: string): string {
  const clipped = text.length > FIELD_LENGTH_MAX ? `${text.slice(0, FIELD_LENGTH_MAX)}…` : text;
  // Half of a surrogate pair is not valid in a JSON document.
  return clipped.toWellFormed();
}

function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // The lines are written; only their safety against a power cut is not certain.
  }
}

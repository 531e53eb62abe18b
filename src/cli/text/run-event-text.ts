import { printable } from '../../base/printable.ts';
import type { RunEvent, RunEventData } from '../../contracts/run-events.ts';
import { LiveText } from './live.ts';
import { stderr, stdout } from './out.ts';
import type { Paint } from './paint.ts';
import { ProgressLine, watchedColumns } from './progress.ts';
import { eventText } from './transcript-text.ts';
import { sizeText } from './units.ts';

/** Shows the events of a run in a terminal, as the run's own command does. */
export class RunEventText {
  readonly #paint: Paint;
  readonly #live = { stdout: new LiveText(stdout.write), stderr: new LiveText(stderr.write) };
  readonly #progress: ProgressLine;
  readonly #done = new Map<string, boolean>();
  /** The cases that had finished before; they do not count toward the rate. */
  readonly #before: number;
  #failed = 0;
  #total: number;

  constructor(id: string, suite: { readonly done: number; readonly total: number } | undefined, paint: Paint) {
    this.#paint = paint;
    this.#before = suite?.done ?? 0;
    this.#total = suite?.total ?? 0;
    this.#progress = new ProgressLine(stderr.write, watchedColumns(process.stderr, process.env));
    this.#progress.begin(id);
  }

  show(event: RunEvent): void {
    const { kind, data } = event;
    if (kind === 'output') this.#live[data.stream].take(Buffer.from(data.text));
    else if (kind === 'transcript') this.#line(eventText(data.entry, this.#paint));
    else if (kind === 'planned') this.#total = data.cases ?? 0;
    else if (kind === 'case') this.#case(data);
    else if (kind === 'noted' && data.check !== null)
      this.#line(`check ${printable(data.check)}  ${printable(data.verdict ?? 'unknown')}`);
    else if (kind === 'cut')
      this.#line(this.#paint('note', `${data.stream} continues after ${sizeText(data.at)}, but is not shown any more`));
  }

  end(): void {
    this.#live.stdout.end();
    this.#live.stderr.end();
    this.#progress.end();
  }

  #case({ case_id, status, verdict }: RunEventData['case']): void {
    if (this.#done.get(case_id) === false) this.#failed--;
    if (status !== 'ok') this.#failed++;
    this.#done.set(case_id, status === 'ok');
    this.#progress.onVerdict?.(verdict);
    const done = this.#done.size;
    if (done > this.#before) this.#progress.show({ done, failed: this.#failed, total: this.#total });
  }

  #line(text: string | undefined): void {
    if (text !== undefined) stderr.write(`${text}\n`);
  }
}

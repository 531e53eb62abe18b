import path from 'node:path';
import { onTestFinished } from 'vitest';
import { Place } from '../../support/runs.ts';
import { type Ran, ranSuite } from './support.ts';

/** A project with programs, whose target files are written as JSON. */
export class ProgramWorld extends Place {
  constructor(files: Readonly<Record<string, string>>) {
    super();
    onTestFinished(() => this.remove());
    for (const [name, text] of Object.entries(files)) this.file(name, text);
  }

  target(declaration: object, name = 'target.json'): string {
    return this.file(name, JSON.stringify(declaration));
  }

  /** Runs cases against a target through the library. */
  async ran(
    declaration: object,
    cases: Parameters<typeof ranSuite>[0],
    options: Parameters<typeof ranSuite>[1] = {},
  ): Promise<Ran> {
    const target = path.basename(this.target(declaration));
    const environment = { PATH: process.env['PATH'], ...options.environment };
    return ranSuite(cases, { cwd: this.cwd, target, ...options, environment });
  }
}

/** The stored replies of a run, by case. */
export function repliesOf({ bytes }: Pick<Ran, 'bytes'>): Record<string, string> {
  const lines = bytes('assets/replies.ndjson').toString().trim().split('\n');
  const replies = lines.map(line => JSON.parse(line) as { case_id: string; body: string });
  return Object.fromEntries(replies.map(({ case_id, body }) => [case_id, body]));
}

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { Fault } from '../../src/base/fault.ts';

/** A project, and a folder to publish from it. */
export class PublishWorld {
  readonly cwd = mkdtempSync(path.join(tmpdir(), 'proctor-publish-'));
  readonly folder = path.join(this.cwd, 'tool');
  readonly home = path.join(this.cwd, '.proctor');

  constructor() {
    chmodSync(this.cwd, 0o755);
    onTestFinished(() => rmSync(this.cwd, { recursive: true, force: true }));
    this.script({});
    this.file('run.sh', ECHOES);
  }

  /** Writes a file of the folder. */
  file(name: string, content: string | Uint8Array): string {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  /** Writes script.yaml. */
  script(changes: Record<string, unknown>): void {
    const document = {
      schema_version: 'published-script.v1',
      name: 'echo',
      version: '1.0.0',
      title: 'Echo',
      script: 'run.sh',
      inputs: [{ kind: 'text', name: 'word', label: 'Word', default: 'hello' }],
      ...changes,
    };
    this.file('script.yaml', JSON.stringify(document));
  }

  settings(settings: object): void {
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(this.home, 'settings.json'), JSON.stringify(settings));
  }
}

/** Copies its inputs to output/ and succeeds. */
const ECHOES = `#!/bin/sh
mkdir -p output
for file in input/*; do cp "$file" output/; done
printf '{"contract_version":1,"status":"succeeded","html_output":"<p>done</p>","error_summary":null,"artifacts":[]}' > result.json
`;

/** The fault of an act, as `code: message`. */
export async function faultOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (error instanceof Fault) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'no fault';
}

import { spawnSync } from 'node:child_process';
import { callOf, type Scene } from './scene.ts';

/** A command that the model wanted, and what it printed. */
interface DoneCommand {
  readonly id: string;
  readonly command: string;
  readonly output: string;
}

/** The next command, the last message, or the status of a refusal. */
type ModelAnswer = { readonly command: string } | { readonly text: string } | { readonly status: number };

export type AskModel = (task: string, done: readonly DoneCommand[]) => Promise<ModelAnswer>;

const TURNS_MAX = 50;
const OUTPUT_CHARACTERS_MAX = 30_000;
const COMMAND_MS_MAX = 120_000;

/** Works as a real agent does: asks the model, runs its command, and sends back the output. */
export async function workWith(ask: AskModel, scene: Scene, task: string): Promise<void> {
  const { tongue } = scene;
  const done: DoneCommand[] = [];
  while (done.length < TURNS_MAX) {
    const answer = await ask(task, done);
    if ('status' in answer) {
      scene.atEnd = () => tongue.fails(answer.status);
      return;
    }
    if ('text' in answer) {
      scene.finalText = answer.text;
      return;
    }
    const call = callOf('command', answer.command);
    tongue.calls(call);
    const options = { encoding: 'utf8', timeout: COMMAND_MS_MAX } as const;
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', call.what], options);
    const output = `${stdout}${stderr}`.slice(0, OUTPUT_CHARACTERS_MAX);
    tongue.returned(call, output, status ?? 1);
    done.push({ id: call.id, command: call.what, output });
  }
}

/** The data of the events in a streamed answer. */
export function eventsIn(stream: string): Record<string, unknown>[] {
  const lines = stream.split('\n').filter(line => line.startsWith('data: '));
  return lines.map(line => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);
}

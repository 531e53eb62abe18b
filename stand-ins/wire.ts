import path from 'node:path';
import type { Block } from './scenarios.ts';

/** The data of one server-sent event. */
export interface Event {
  readonly type: string;
  readonly [key: string]: unknown;
}

const INPUT_TOKENS = 100;
const OUTPUT_TOKENS = 20;

/** A streamed answer to `POST /v1/messages`. */
export function anthropicEvents(blocks: readonly Block[], id: string, model = 'claude-opus-5-5'): readonly Event[] {
  const usage = { input_tokens: INPUT_TOKENS, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const calls = blocks.some(({ kind }) => kind !== 'text');
  return [
    {
      type: 'message_start',
      message: {
        id: `msg_${id}`,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
    ...blocks.flatMap((block, index) => anthropicBlock(block, index, id)),
    {
      type: 'message_delta',
      delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: OUTPUT_TOKENS },
    },
    { type: 'message_stop' },
  ];
}

function anthropicBlock(block: Block, index: number, id: string): Event[] {
  const tool = (name: string, input: object): [object, object] => [
    { type: 'tool_use', id: `toolu_${id}_${index}`, name, input: {} },
    { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  ];
  const [start, delta] =
    block.kind === 'text'
      ? [
          { type: 'text', text: '' },
          { type: 'text_delta', text: block.text },
        ]
      : block.kind === 'command'
        ? tool('Bash', {
            command: block.command,
            description: 'As the scenario says',
            ...(block.isBackground && { run_in_background: true }),
          })
        : block.kind === 'question'
          ? tool('AskUserQuestion', { questions: [{ ...questionOf(block.text), multiSelect: false }] })
          : block.kind === 'skill'
            ? tool('Skill', { skill: block.skill })
            : tool('Write', { file_path: block.path, content: block.content });
  return [
    { type: 'content_block_start', index, content_block: start },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index },
  ];
}

function questionOf(question: string): object {
  const options = ['Red', 'Blue'].map(label => ({ label, description: `${label}, as the scenario says` }));
  return { question, header: 'Choice', options };
}

/** A streamed answer to `POST /v1/responses`. */
export function openaiEvents(blocks: readonly Block[], id: string): readonly Event[] {
  return [
    { type: 'response.created', response: { id: `resp_${id}` } },
    ...blocks.map((block, index) => ({ type: 'response.output_item.done', item: openaiItem(block, `${id}_${index}`) })),
    {
      type: 'response.completed',
      response: {
        id: `resp_${id}`,
        usage: {
          input_tokens: INPUT_TOKENS,
          input_tokens_details: { cached_tokens: 40 },
          output_tokens: OUTPUT_TOKENS,
          output_tokens_details: { reasoning_tokens: 5 },
          total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
        },
      },
    },
  ];
}

function isBackground(block: Block): boolean {
  return block.kind === 'command' && block.isBackground === true;
}

/** Not every Codex model has a file tool; all have a command tool. */
function openaiItem(block: Block, id: string): object {
  if (block.kind === 'text')
    return {
      type: 'message',
      id: `msg_${id}`,
      role: 'assistant',
      content: [{ type: 'output_text', text: block.text }],
    };
  if (block.kind === 'question')
    return functionCall(id, 'request_user_input', { questions: [{ id: 'choice', ...questionOf(block.text) }] });
  if (block.kind === 'patch') {
    const lines = block.content
      .trimEnd()
      .split('\n')
      .map(line => `+${line}`);
    const input = ['*** Begin Patch', `*** Add File: ${block.path}`, ...lines, '*** End Patch', ''].join('\n');
    return { type: 'custom_tool_call', id: `ct_${id}`, call_id: `call_${id}`, name: 'apply_patch', input };
  }
  const command =
    block.kind === 'command'
      ? block.command
      : block.kind === 'skill'
        ? `cat .agents/skills/${block.skill.replace(/^.*:/, '')}/SKILL.md`
        : `mkdir -p ${path.posix.dirname(block.path)} && printf '%s\\n' '${block.content.trimEnd()}' > ${block.path}`;
  // The shortest time that Codex waits before it moves a command to the background.
  return functionCall(id, 'exec_command', { cmd: command, ...(isBackground(block) && { yield_time_ms: 250 }) });
}

function functionCall(id: string, name: string, input: object): object {
  return { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, name, arguments: JSON.stringify(input) };
}

import type { ScriptInput } from '../../../src/contracts/published-script/shape.ts';
import { Text } from '../../shared/visible.tsx';

interface Props {
  readonly input: ScriptInput;
  /** Why the server refused its value. */
  readonly error: string | undefined;
}

/** A field for a typed input. The browser checks what it can; the server checks everything. */
export function InputField({ input, error }: Props) {
  const help = `help-${input.name}`;
  const fault = `fault-${input.name}`;
  const described = { 'aria-describedby': `${help} ${fault}`, 'aria-invalid': error !== undefined };
  return (
    <div class="live-field">
      <label>
        <span>
          <Text value={input.label} />
          {input.required === true && <span class="muted"> (required)</span>}
        </span>
        <Control input={input} described={described} />
      </label>
      <span class="note" id={help}>
        <Text value={helpOf(input)} />
      </span>
      <span class="live-error" id={fault}>
        {error !== undefined && <Text value={error} />}
      </span>
    </div>
  );
}

/** The help of the author, and what a file may be. */
function helpOf(input: ScriptInput): string {
  const help = input.help ?? '';
  if (input.kind !== 'file' || input.accept === undefined) return help;
  const types = `${input.multiple === true ? 'Files' : 'A file'} of the type ${input.accept.join(' or ')}.`;
  return `${help} ${types}`.trim();
}

interface ControlProps {
  readonly input: ScriptInput;
  readonly described: { readonly 'aria-describedby': string; readonly 'aria-invalid': boolean };
}

function Control({ input, described }: ControlProps) {
  const isRequired = input.required === true;
  const hasDefault = input.kind !== 'file' && input.default !== undefined;
  const common = { name: input.name, required: isRequired, ...described };
  switch (input.kind) {
    case 'number':
      return (
        <input
          type="number"
          {...common}
          {...(input.default !== undefined && { defaultValue: String(input.default) })}
          {...(input.min !== undefined && { min: input.min })}
          {...(input.max !== undefined && { max: input.max })}
          step={input.step ?? 'any'}
        />
      );
    case 'choice':
      return (
        <select {...common}>
          {!(isRequired && hasDefault) && <option value="">{isRequired ? 'Choose…' : 'No choice'}</option>}
          {input.choices.map(choice => (
            <option key={choice} value={choice} selected={choice === input.default}>
              {choice}
            </option>
          ))}
        </select>
      );
    case 'date':
      return (
        <input
          type="date"
          {...common}
          {...(input.default !== undefined && { defaultValue: input.default })}
          {...(input.earliest !== undefined && { min: input.earliest })}
          {...(input.latest !== undefined && { max: input.latest })}
        />
      );
    case 'file':
      return (
        <input
          type="file"
          {...common}
          multiple={input.multiple === true}
          {...(input.accept !== undefined && { accept: input.accept.join(',') })}
        />
      );
    default:
      return (
        <input
          type="text"
          {...common}
          {...(input.default !== undefined && { defaultValue: input.default })}
          maxLength={input.max_length ?? TEXT_CHARS_MAX}
        />
      );
  }
}

const TEXT_CHARS_MAX = 10_000;

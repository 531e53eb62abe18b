import { useState } from 'preact/hooks';
import { plain, Text } from '../shared/visible.tsx';

/** A command with a button that copies it. Without clipboard access, the button selects the text. */
export function Command({ command, does }: { readonly command: string; readonly does: string }) {
  const [state, setState] = useState<'' | 'Copied' | 'Selected'>('');
  const copy = async (event: Event): Promise<void> => {
    const code = (event.currentTarget as HTMLElement).parentElement?.querySelector('code');
    try {
      await navigator.clipboard.writeText(command);
      setState('Copied');
    } catch {
      if (code) getSelection()?.selectAllChildren(code);
      setState('Selected');
    }
  };
  return (
    <div class="command">
      <p>{does}</p>
      <div class="command-line">
        <code>
          <Text value={command} />
        </code>
        <button type="button" class="quiet" onClick={copy} aria-label={`Copy ${plain(command)}`}>
          {state || 'Copy'}
        </button>
      </div>
      <span class="unseen" role="status">
        {state}
      </span>
    </div>
  );
}

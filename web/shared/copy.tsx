import { useRef, useState } from 'preact/hooks';
import { Icon } from './marks.tsx';
import { plain, Text } from './visible.tsx';

/** A line of text with a button that copies it. Without access to the clipboard, the button selects the text. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const code = useRef<HTMLElement>(null);
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    setSaid('');
    const isCopied = await copied(text, code.current);
    setSaid(isCopied ? 'Copied' : 'Selected. Copy it with Ctrl+C or ⌘C.');
  };
  return (
    <div class="copyable">
      <code ref={code} tabIndex={0}>
        <Text value={text} />
      </code>
      <button type="button" class="small" onClick={() => void copy()} aria-label={plain(`Copy: ${label}`)}>
        <Icon path="M5.5 5.5h7v7h-7zM3.5 10.5v-7h7" />
        Copy
      </button>
      <span role="status">{said}</span>
    </div>
  );
}

/** Selects the text too, so that a reader sees what was copied, and can copy it if the browser refuses. */
async function copied(text: string, element: HTMLElement | null): Promise<boolean> {
  if (element) getSelection()?.selectAllChildren(element);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    try {
      // A page from disk may have no other access to the clipboard.
      return document.execCommand('copy');
    } catch {
      return false;
    }
  }
}

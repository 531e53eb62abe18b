import { AgentHtml } from '../../shared/agent-html.tsx';
import { count } from '../../shared/format.ts';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { type RunAddress, showRunView } from '../run/address.ts';
import { Card } from '../run/card.tsx';

interface Props {
  readonly html: string;
  readonly address: RunAddress;
  readonly styleMark: string;
}

/** The HTML of the script: text until the reader asks for the page, then a frame without rights. */
export function HtmlOutput({ html, address, styleMark }: Props) {
  const isPage = address.html === 'page';
  return (
    <Card id="html" title="HTML output" note={size(new Blob([html]).size)}>
      <p class="as-html">
        {isPage
          ? 'The script’s HTML, without scripts, forms or external content.'
          : 'The script returned HTML, which is shown as text.'}{' '}
        <button
          type="button"
          class="run-button"
          aria-pressed={isPage}
          onClick={() => showRunView({ html: isPage ? '' : 'page' })}
        >
          {isPage ? 'Show as text' : 'Show as a page, without scripts'}
        </button>
      </p>
      {isPage ? (
        <AgentHtml html={html} title="The script’s HTML" styleMark={styleMark} />
      ) : (
        <pre class="html-text" tabIndex={0} aria-label="The script’s HTML as text">
          <Text value={html.slice(0, SHOWN_CHARS_MAX)} />
        </pre>
      )}
      {!isPage && html.length > SHOWN_CHARS_MAX && (
        <p class="note">The text is cut after {count(SHOWN_CHARS_MAX)} characters. All of it is in result.json.</p>
      )}
    </Card>
  );
}

const SHOWN_CHARS_MAX = 100_000;

import { safeHtml } from './safe-html.ts';

/** Blocks loading, scripts, forms and navigation. Allows only inline styles and embedded images. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** For HTML that brings no styles. Any rule of its own wins over these. */
const BASE =
  ':where(body){margin:16px;font:15px/1.5 system-ui,sans-serif}:where(table){border-collapse:collapse}:where(th,td){padding:4px 16px 4px 0;text-align:left;vertical-align:top}';

interface Props {
  readonly html: string;
  /** Says whose HTML it is, for screen readers. */
  readonly title: string;
  readonly styleMark: string;
}

/**
 * A frame without permissions. It inherits this page's policy, so its styles need the page's nonce. A misplaced nonce
 * only breaks the framed HTML.
 */
export function AgentHtml({ html, title, styleMark }: Props) {
  const marked = safeHtml(html).replace(/<style\b/gi, `<style nonce="${styleMark}"`);
  const page = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}"><meta name="color-scheme" content="light"><style nonce="${styleMark}">${BASE}</style>${marked}`;
  return <iframe class="agent-html" sandbox="" srcdoc={page} title={`${title}, without scripts`} />;
}

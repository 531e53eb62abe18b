import { safeHtml } from './safe-html.ts';

/** Blocks loading, scripts, forms and navigation. Allows only inline styles and embedded images. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

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
  const page = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}"><meta name="color-scheme" content="light">${marked}`;
  return <iframe class="agent-html" sandbox="" srcdoc={page} title={`${title}, without scripts`} />;
}

import { head } from './page.ts';
import { safeHtml } from './safe-html.ts';

export function looksLikeHtml(content: unknown): content is string {
  return (
    typeof content === 'string' &&
    /^\s*(?:<!doctype html|<html\b|<!-{2}|<[a-z][a-z0-9-]*\b[^>]*>[\s\S]*<\/[a-z][a-z0-9-]*\s*>\s*$)/i.test(
      content.slice(0, 200_000),
    )
  );
}

/** Nothing may be loaded, run, sent or opened; styles and pictures that came with the text are all there is. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/**
 * A frame without any permission. It inherits the policy of this page, so the styles in it need the mark that this page knows;
 * a mark in the wrong place breaks the agent's text and nothing else.
 */
export function AgentHtml({ html, side }: { readonly html: string; readonly side: string }) {
  const marked = safeHtml(html).replace(/<style\b/gi, `<style nonce="${head.style_mark}"`);
  const page = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}"><meta name="color-scheme" content="light">${marked}`;
  return <iframe class="agent-html" sandbox="" srcdoc={page} title={`HTML of the agent (${side}), without scripts`} />;
}

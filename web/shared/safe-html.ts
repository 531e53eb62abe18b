/**
 * The agent's HTML, reduced to an allow list. A policy cannot forbid everything: `<link rel=preconnect>` opens a
 * connection that no policy covers.
 */
export function safeHtml(html: string): string {
  // An inert document: nothing in it is loaded or run.
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  for (const element of parsed.querySelectorAll('*')) {
    if (REMOVED.has(element.localName) || element.namespaceURI !== HTML) element.remove();
    else if (!KEPT.has(element.localName)) unwrap(element);
    else for (const name of element.getAttributeNames()) if (!isKept(element, name)) element.removeAttribute(name);
  }
  return parsed.documentElement.outerHTML;
}

/** One by one, because there may be more children than a call accepts arguments. */
function unwrap(element: Element): void {
  while (element.firstChild) element.before(element.firstChild);
  element.remove();
}

const HTML = 'http://www.w3.org/1999/xhtml';

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** Removed with their content, which is not readable text or would parse differently the second time. */
const REMOVED = words(
  'script noscript template link meta base title iframe frame frameset noframes object embed applet param portal fencedframe svg math audio video source track canvas textarea select option xmp plaintext noembed listing',
);

const KEPT = words(
  `html head body style p div span br hr wbr h1 h2 h3 h4 h5 h6 main header footer nav section article aside address hgroup
  a b i u s em strong small sub sup mark abbr cite code kbd samp var pre q blockquote del ins dfn time data bdi bdo ruby rt rp
  ul ol li dl dt dd figure figcaption img table caption colgroup col thead tbody tfoot tr td th details summary font center`,
);

const ATTRIBUTES = words(
  'id class style title lang dir alt width height align valign colspan rowspan span scope start reversed value datetime open color face size border',
);

/** Links lose their targets, so the browser neither looks them up nor opens them. Only embedded images stay. */
function isKept(element: Element, name: string): boolean {
  if (element.localName === 'img' && name === 'src') {
    return /^data:image\/(?:png|jpeg|gif|webp);/i.test(element.getAttribute(name) ?? '');
  }
  return ATTRIBUTES.has(name);
}

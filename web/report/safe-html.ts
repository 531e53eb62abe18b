/**
 * The HTML of an agent with nothing left that could reach out of it. What is kept is listed; everything else goes, because a
 * policy cannot forbid all: `<link rel=preconnect>` opens a connection that no policy knows.
 */
export function safeHtml(html: string): string {
  // A document that is shown nowhere: nothing in it is loaded, connected to or run.
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  for (const element of parsed.querySelectorAll('*')) {
    if (REMOVED.has(element.localName) || element.namespaceURI !== HTML) element.remove();
    else if (!KEPT.has(element.localName)) unwrap(element);
    else for (const name of element.getAttributeNames()) if (!isKept(element, name)) element.removeAttribute(name);
  }
  return parsed.documentElement.outerHTML;
}

/** One by one: there may be more children than a call takes arguments. */
function unwrap(element: Element): void {
  while (element.firstChild) element.before(element.firstChild);
  element.remove();
}

const HTML = 'http://www.w3.org/1999/xhtml';

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** With everything in them: what they hold is no text for readers, or is read in another way the second time. */
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

/** Links lead nowhere, so nothing looks up or opens where they lead. Pictures are those that came with the text. */
function isKept(element: Element, name: string): boolean {
  if (element.localName === 'img' && name === 'src') {
    return /^data:image\/(?:png|jpeg|gif|webp);/i.test(element.getAttribute(name) ?? '');
  }
  return ATTRIBUTES.has(name);
}

/**
 * The secrets of a run in the ways that they are usually written when they leak: as they are, escaped for a URL, for HTML
 * or for JSON, in hexadecimal, and in base64 wherever in the encoded text they begin.
 */
export function secretForms(secrets: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret === '') continue;
    forms.add(secret);
    // Encoded, a short secret is a few letters that stand in any text.
    if (secret.length < ENCODED_MIN) continue;
    const percent = encodeURIComponent(secret.toWellFormed());
    forms.add(percent);
    forms.add(percent.replace(/%[0-9A-F]{2}/g, escape => escape.toLowerCase()));
    forms.add(JSON.stringify(secret).slice(1, -1));
    forms.add(secret.replace(/[&<>"']/g, character => ENTITIES[character] ?? character));
    forms.add(Buffer.from(secret).toString('hex'));
    for (const text of base64Forms(secret)) forms.add(text).add(text.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...forms];
}

/** Base64 writes three bytes as four letters, so the letters depend on how many bytes came before: none, one or two. */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Letters that hold bits of a neighbour are left out.
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const ENCODED_MIN = 8;

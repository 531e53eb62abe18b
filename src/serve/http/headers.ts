/** The headers of every answer. Answers of the API are never stored, framed or run; a page may run only its own files. */
export function securityHeaders(kind: 'api' | 'page', styleMark = ''): Readonly<Record<string, string>> {
  return kind === 'api' ? API_HEADERS : headersWith(pagePolicy(styleMark));
}

const API_HEADERS = headersWith("default-src 'none'; frame-ancestors 'none'; sandbox");

function headersWith(policy: string): Readonly<Record<string, string>> {
  return {
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  };
}

/** Frames inherit this policy, so it also allows styles with the page's nonce, for HTML from outside. */
function pagePolicy(styleMark: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${styleMark}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

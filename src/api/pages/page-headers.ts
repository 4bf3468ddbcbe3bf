/**
 * The headers of pages. A page may run and load only what the node itself serves, and nobody may frame it: names and metadata
 * in the chain come from strangers, and beside the explorer there may be a wallet.
 */

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // No text ever becomes markup, whatever the code of a page does.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Of documents; files that they load have some of them too. */
export const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  // For browsers that do not know frame-ancestors.
  'x-frame-options': 'DENY',
} as const;

/** A QR code, dark on light in both schemes, because many readers know no other. */

import { useMemo } from 'preact/hooks';
import { qrPath } from './qr-path.js';

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, path } = useMemo(() => qrPath(text), [text]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect class="qr-light" width={size} height={size} />
      <path class="qr-dark" d={path} />
    </svg>
  );
}

/** A QR code as the path of an SVG: no markup from texts, which the policy of the pages forbids. */

import encodeQR from 'qr';

/** Light modules around the code, as the standard asks for. */
const QUIET = 4;

export interface QrPath {
  /** Modules of a side, with those around. */
  readonly size: number;
  readonly path: string;
}

export function qrPath(text: string): QrPath {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: QUIET });
  let path = '';
  for (const [y, row] of rows.entries()) {
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue;
      const start = x;
      while (row[x + 1]) x++;
      path += `M${start} ${y}h${x - start + 1}v1H${start}z`;
    }
  }
  return { size: rows.length, path };
}

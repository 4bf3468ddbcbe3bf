/** The mark: a mosaic of nine tesserae. */

const TILES = [
  ['gold', 'gold', 'clay'],
  ['lapis', 'stone', 'lapis'],
  ['sea', 'stone', 'lapis'],
] as const;
const SIZE = 7;
const STEP = 8.5;

export function Logo({ size = 28 }: { readonly size?: number }) {
  return (
    <svg class="logo" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      {TILES.flatMap((row, y) =>
        row.map((color, x) => (
          <rect class={`tile-${color}`} x={x * STEP} y={y * STEP} width={SIZE} height={SIZE} rx="1.4" />
        )),
      )}
    </svg>
  );
}

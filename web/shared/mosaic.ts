/** Small mosaics made from hashes and addresses, by which the eye tells them apart. */

const CELLS = 4;
const STEP = 5;
const TILE = 4.4;
const COLORS = ['gold', 'clay', 'lapis', 'sea', 'stone'] as const;
/** FNV-1a, and the last steps of MurmurHash3, without which the lowest bits of similar texts are the same; it only chooses colours. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const MIX = [0x85ebca6b, 0xc2b2ae35] as const;
/** Lists show the same texts again and again. */
const MAX_KNOWN = 2_000;

function numberOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), MIX[0]);
  hash = Math.imul(hash ^ (hash >>> 13), MIX[1]);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export type Tiles = readonly (readonly [color: (typeof COLORS)[number], path: string])[];

const known = new Map<string, Tiles>();

/** One path for each colour: a list of addresses has hundreds of mosaics. */
export function tilesOf(text: string): Tiles {
  const found = known.get(text);
  if (found !== undefined) return found;
  const seed = numberOf(text);
  const paths = new Map<(typeof COLORS)[number], string>();
  for (let at = 0; at < CELLS * CELLS; at++) {
    const [x, y] = [at % CELLS, Math.floor(at / CELLS)];
    // The same on both sides, as a face is.
    const column = Math.min(x, CELLS - 1 - x);
    const color = COLORS[numberOf(`${seed}/${column}/${y}`) % (COLORS.length + 1)];
    if (color === undefined) continue;
    paths.set(color, `${paths.get(color) ?? ''}M${x * STEP} ${y * STEP}h${TILE}v${TILE}h-${TILE}z`);
  }
  const tiles = [...paths];
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, tiles);
  return tiles;
}

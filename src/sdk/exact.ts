/** Integers of 64 bits in answers: bigints, whatever their size, so that a program that works with small ones works with all. */

/** Places of exact integers: here, or in members; `*` is every other member or element. */
export type ExactPlaces = 1 | { readonly [member: string]: ExactPlaces };

/** The value with bigints in these places. It is changed, not copied. */
export function withBigints(value: unknown, places: ExactPlaces | undefined): unknown {
  if (places === undefined) return value;
  if (places === 1) return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(members)) {
    // Names may come from strangers; such a member would replace the prototype.
    if (name === '__proto__') continue;
    const below = Object.hasOwn(places, name) ? places[name] : places['*'];
    if (below !== undefined) members[name] = withBigints(member, below);
  }
  return value;
}

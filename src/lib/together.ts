/** Two things that are done at the same time. */

/** Resolves with both results. When one fails, the other is waited for before the error is thrown. */
export async function together<A, B>(first: Promise<A>, second: Promise<B>): Promise<readonly [A, B]> {
  const [a, b] = await Promise.allSettled([first, second]);
  if (a.status === 'rejected') throw a.reason;
  if (b.status === 'rejected') throw b.reason;
  return [a.value, b.value];
}

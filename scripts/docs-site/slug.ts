/** Names of headings in links, as code hosts make them. */

/** Gives each heading of one page its name; a second one of the same text gets a number. */
export class Slugs {
  readonly #given = new Map<string, number>();

  of(heading: string): string {
    const words = heading.trim().toLowerCase();
    const name = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const before = this.#given.get(name) ?? 0;
    this.#given.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  }
}

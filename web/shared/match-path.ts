/** Matches a path to a page: patterns as the server has them (src/api/pages/page-paths.ts). */

export type PathParams = Readonly<Record<string, string>>;

/** The parameters of a path that fits a pattern such as `/blocks/:block`; undefined when it does not. */
export function matchPath(pattern: string, path: string): PathParams | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.at(-1) === '*' ? given.length < wanted.length : given.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    if (part === '*') return { ...params, rest: given.slice(at).join('/') };
    const value = given[at] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decoded(value);
    else if (part !== value) return undefined;
  }
  return params;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

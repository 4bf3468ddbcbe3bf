/** Sets JSON in lines without reading it: each number stays as it was written, whatever its size. */

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const INDENT = '  ';

/** The text itself when it is no JSON. */
export function prettyJson(text: string): string {
  const tokens = text.match(TOKENS);
  if (tokens === null || !/^\s*[[{]/.test(text)) return text;
  const parts: string[] = [];
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    const opened = tokens[at - 1] === '{' || tokens[at - 1] === '[';
    if (token === '}' || token === ']') {
      depth -= 1;
      parts.push(opened ? token : `${lineAt(depth)}${token}`);
    } else if (token === ',' || token === ':') {
      parts.push(token === ':' ? ': ' : token);
    } else {
      const first = at > 0 && (opened || tokens[at - 1] === ',');
      parts.push(first ? `${lineAt(depth)}${token}` : token);
      if (token === '{' || token === '[') depth += 1;
    }
  }
  return parts.join('');
}

function lineAt(depth: number): string {
  return `\n${INDENT.repeat(Math.max(0, depth))}`;
}

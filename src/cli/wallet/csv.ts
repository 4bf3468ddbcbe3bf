/** Comma-separated values (RFC 4180), for spreadsheets and accounts. */

/** A spreadsheet takes a cell that begins so for a formula, some also in full width, and a peer can choose what is in some cells. */
const FORMULA = /^[=+@\t\r\n\-＝＋＠－]/;
const NUMBER = /^-[0-9]+(\.[0-9]+)?$/;

/** A line of titles and the rows, each ending in CR LF. */
export function csv(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return [titles, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

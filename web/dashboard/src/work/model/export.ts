// Runs as CSV (RFC 4180) and JSON. The columns have the names of the REST fields; "counts.total" is a member of an object.

type Cell = string | number | boolean;
export type Row = object;

const FIRST = ['kind', 'id', 'cluster', 'name', 'state', 'submitted_by', 'created_ms', 'ended_ms', 'duration_ms'];

function flat(row: Row, into: Map<string, Cell>, before = ''): Map<string, Cell> {
  for (const [name, value] of Object.entries(row) as [string, unknown][]) {
    if (Array.isArray(value)) into.set(before + name, value.join('; '));
    else if (typeof value === 'object' && value !== null) flat(value, into, `${before}${name}.`);
    else if (value !== null && value !== undefined) into.set(before + name, value as Cell);
  }
  return into;
}

// Spreadsheets would execute a text that begins like a formula.
function cell(value: Cell | undefined): string {
  if (value === undefined) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => flat(row, new Map()));
  const names = [...new Set([...FIRST, ...cells.flatMap((of) => [...of.keys()])])];
  return [names.map(cell), ...cells.map((of) => names.map((name) => cell(of.get(name))))].map((line) => `${line.join(',')}\r\n`).join('');
}

export const jsonOf = (rows: readonly Row[]): string => `${JSON.stringify(rows, null, 2)}\n`;

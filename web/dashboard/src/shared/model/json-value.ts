import { bytes, count, plural } from './format';

export interface Leaf {
  kind: 'text' | 'lines' | 'number' | 'word' | 'bytes' | 'blob' | 'value';
  text: string;
  id?: string; // ID of the blob or value
}
export interface Branch {
  kind: 'list' | 'object';
  says: string; // for example "3 items"
  children: [name: string, value: unknown][];
  more: number;
}
export type Node = Leaf | Branch;
export const isBranch = (node: Node): node is Branch => 'children' in node;

const CHILDREN = 100;
const base64Size = (text: string): number => Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);

// Shows {"$pickle": "…"} and similar values without base64.
function standIn(value: object): Leaf | null {
  const [[name, of] = ['', ''], ...rest] = Object.entries(value) as [string, unknown][];
  if (typeof of !== 'string') return null;
  if (rest.length === 0 && (name === '$pickle' || name === '$bytes')) return { kind: 'bytes', text: `${name === '$pickle' ? 'pickle' : 'bytes'}, ${bytes(base64Size(of))}` };
  const size = (value as { bytes?: unknown }).bytes;
  if (name === '$blob' && /^[0-9a-f]{64}$/.test(of)) return { kind: 'blob', text: typeof size === 'number' ? `blob, ${bytes(size)}` : 'blob', id: of };
  if (rest.length === 0 && name === '$remote_value' && /^rv_[0-9a-f]{16}$/.test(of)) return { kind: 'value', text: of, id: of };
  return null;
}

export function nodeOf(value: unknown): Node {
  if (typeof value === 'string') return value.includes('\n') || value.includes('\u001b') ? { kind: 'lines', text: value } : { kind: 'text', text: value };
  if (typeof value === 'number') return { kind: 'number', text: String(value) };
  if (value === null || typeof value !== 'object') return { kind: 'word', text: String(value) };
  const other = standIn(value);
  if (other) return other;
  const list = Array.isArray(value);
  const all = list ? value.map((item, n): [string, unknown] => [String(n), item]) : Object.entries(value);
  return { kind: list ? 'list' : 'object', says: list ? plural(all.length, 'item') : plural(all.length, 'member'), children: all.slice(0, CHILDREN), more: Math.max(0, all.length - CHILDREN) };
}

// A list of plain numbers or short strings is shown in one line.
const INLINE = 72; // characters
export function inline(node: Branch): string | null {
  if (node.kind !== 'list' || node.more > 0) return null;
  const parts = node.children.map(([, child]) => (typeof child === 'string' ? JSON.stringify(child) : child === null || typeof child !== 'object' ? String(child) : null));
  if (parts.includes(null)) return null;
  const text = `[${parts.join(', ')}]`;
  return text.length <= INLINE && !text.includes('\\n') && !text.includes('\\u') ? text : null;
}

export const moreText = (n: number): string => `and ${count(n)} more`;

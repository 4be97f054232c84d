import type { ValuePreview } from 'muster-rest';
import { bytes, count, plural } from './format';

export type Preview = ValuePreview;

export interface Shown {
  text: string;
  note: string; // note that is shown instead of the text
  truncated: boolean;
  shown: number; // bytes
}

export function previewText(p: Preview): Shown {
  const nothing = { text: '', truncated: false, shown: 0 };
  if (p.error) return { ...nothing, note: p.error.message };
  if (p.text === undefined) return { ...nothing, note: p.place === 'disk' ? `${bytes(p.bytes)} on disk; use Download to read them.` : 'The server does not have the value.' };
  const truncated = p.truncated ?? false;
  if (p.encoding === 'bytes') return { text: dump(p.text), note: p.bytes === 0 ? 'The value is empty.' : '', truncated, shown: p.text.length / 2 };
  return { text: truncated ? p.text : pretty(p.text), note: '', truncated, shown: new TextEncoder().encode(p.text).length };
}

export function whereItLies(p: Preview): string {
  const holders = p.holders?.join(', ') || p.holder;
  if (holders) return `in the memory of ${holders}${p.at_server ? ', with a copy on the server' : ''}`;
  return p.at_server === false ? 'but the server does not have its bytes' : 'as a blob';
}

// Returns the type and shape of a value, such as "list of 12" or "object with 3 members"; for a Python value, its description. Returns an empty
// string for an error and for a value whose bytes are elsewhere.
export function typeText(p: Preview): string {
  if (p.error || p.text === undefined) return '';
  if (p.description) return p.description;
  if (p.encoding === 'bytes') return 'bytes';
  if (blobIn(p)) return 'bytes, stored separately';
  if (p.truncated) return /^\s*\[/.test(p.text) ? 'list' : /^\s*\{/.test(p.text) ? 'object' : 'text';
  try {
    return typeOf(JSON.parse(p.text));
  } catch {
    return '';
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return shapeOf(value);
  if (typeof value === 'object') return `object with ${plural(Object.keys(value).length, 'member')}`;
  return typeof value === 'string' ? `text of ${plural(value.length, 'character')}` : typeof value;
}

// A list whose rows are lists of one length has two dimensions.
function shapeOf(list: readonly unknown[]): string {
  const across = Array.isArray(list[0]) ? list[0].length : -1;
  const even = across >= 0 && list.every((row) => Array.isArray(row) && row.length === across);
  return even ? `list of ${count(list.length)} × ${count(across)}` : `list of ${count(list.length)}`;
}

// Only complete values are shown as a tree.
export function treeOf(p: Preview): unknown {
  if (p.error || p.encoding !== 'json' || p.truncated || !p.text) return undefined;
  try {
    const value: unknown = JSON.parse(p.text);
    return (typeof value === 'object' && value !== null) || (typeof value === 'string' && /[\n\u001b]/.test(value)) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Returns the hash of the blob that a value refers to.
export function blobIn(p: Preview): string {
  return /^\{"\$blob":"([0-9a-f]{64})"/.exec(p.encoding === 'json' ? (p.text ?? '') : '')?.[1] ?? '';
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function dump(hex: string): string {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) {
    const row = hex.slice(at, at + 32).match(/../g) ?? [];
    const letters = row.map((two) => (/^[2-6][0-9a-f]$|^7[0-9a-e]$/i.test(two) ? String.fromCharCode(parseInt(two, 16)) : '.')).join('');
    lines.push(`${(at / 2).toString(16).padStart(8, '0')}  ${row.join(' ').padEnd(47)}  ${letters}`);
  }
  return lines.join('\n');
}

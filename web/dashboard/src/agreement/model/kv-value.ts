export type Look = 'text' | 'json' | 'hex';

const SHOWN_BYTES = 64 * 1024; // maximum bytes shown as hex or text; more bytes would slow down the page

export function asJson(text: string): string | null {
  const start = text.trimStart()[0];
  if (start !== '{' && start !== '[') return null; // because a plain number or word looks the same as text
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

// Formats as "00000000 68 65 6c 6c 6f … hello".
export function asHex(bytes: Uint8Array): string {
  const lines: string[] = [];
  const end = Math.min(bytes.length, SHOWN_BYTES);
  for (let at = 0; at < end; at += 16) {
    const row = [...bytes.subarray(at, Math.min(end, at + 16))];
    const hex = row.map((b) => b.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`);
  }
  return cut(lines.join('\n'), bytes.length > end);
}

export function asText(text: string): string {
  return cut(text.slice(0, SHOWN_BYTES), text.length > SHOWN_BYTES);
}

const cut = (text: string, more: boolean): string => (more ? `${text}\n… cut here` : text);

export function looks(value: string | null): Look[] {
  if (value === null) return ['hex'];
  return asJson(value) === null ? ['text', 'hex'] : ['json', 'text', 'hex'];
}

// Converts "a/b/" to [["a", "a/"], ["b", "a/b/"]].
export function crumbs(prefix: string): [name: string, prefix: string][] {
  const parts = prefix.split('/').slice(0, -1);
  return parts.map((name, n) => [name, `${parts.slice(0, n + 1).join('/')}/`]);
}

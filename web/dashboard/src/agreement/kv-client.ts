// There can be millions of keys, so only the visible folder is read.

import type { KeyView, KeyWaits } from 'muster-rest';
import { ask, Gone } from '../shared/rest';

type KeyEntry = KeyView;
export type Waits = KeyWaits;
export interface Folder {
  folders: string[];
  keys: KeyEntry[];
  next: string; // page token; empty on the last page
}
export interface KeyValue {
  size: number;
  text: string | null; // null if not UTF-8
  bytes: Uint8Array;
}

const PAGE = 200;

const base = (cluster: string): string => `/api/v1/clusters/${encodeURIComponent(cluster)}`;

export const folderPath = (cluster: string, prefix: string, token = ''): string => {
  const query = new URLSearchParams({ prefix, delimiter: '/', include_values: 'false', limit: String(PAGE) });
  if (token) query.set('page_token', token);
  return `${base(cluster)}/kv?${query}`;
};
export const waitsPath = (cluster: string): string => `${base(cluster)}/kv_waits?limit=100`;
export const valuePath = (cluster: string, key: string): string => `${base(cluster)}/kv/${encodeURIComponent(key)}`;

export async function readFolder(path: string): Promise<Folder> {
  const json = await (await ask(path)).json();
  return { folders: json.folders, keys: json.keys, next: json.next_page_token ?? '' };
}

// Returns 'gone' for a deleted key. Polling then continues, because the key may be set again.
export async function readValue(path: string): Promise<KeyValue | 'gone'> {
  try {
    const response = await ask(path);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const is_text = response.headers.get('Content-Type')?.startsWith('text/') ?? false;
    return { size: bytes.length, text: is_text ? new TextDecoder().decode(bytes) : null, bytes };
  } catch (error) {
    if (error instanceof Gone) return 'gone';
    throw error;
  }
}

// Keys over REST, on demand: millions of them are never sent to a page that shows a folder.

import { ask } from './rest';

export interface KeyEntry {
  key: string;
  size: number;
  changed_ms: number;
}
export interface Folder {
  folders: string[];
  keys: KeyEntry[];
  next: string; // page token, empty at the end
}
export interface Waits {
  keys: { key: string; count: number; waiters: { task: string; since_ms: number; waiting_ms: number }[] }[];
  tasks: { task: string; keys: string[] }[];
  more: boolean;
}
export interface KeyValue {
  size: number;
  text: string | null; // null: not UTF-8
  bytes: Uint8Array;
}

const PAGE = 200;

const base = (cluster: string): string => `/api/v1/clusters/${encodeURIComponent(cluster)}`;

export async function readFolder(cluster: string, prefix: string, token = ''): Promise<Folder> {
  const query = new URLSearchParams({ prefix, delimiter: '/', include_values: 'false', limit: String(PAGE) });
  if (token) query.set('page_token', token);
  const json = await (await ask(`${base(cluster)}/kv?${query}`)).json();
  return { folders: json.folders, keys: json.keys, next: json.next_page_token ?? '' };
}

export async function readWaits(cluster: string): Promise<Waits> {
  return (await ask(`${base(cluster)}/kv_waits?limit=100`)).json();
}

export async function readValue(cluster: string, key: string): Promise<KeyValue> {
  const response = await ask(`${base(cluster)}/kv/${encodeURIComponent(key)}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const is_text = response.headers.get('Content-Type')?.startsWith('text/') ?? false;
  return { size: bytes.length, text: is_text ? new TextDecoder().decode(bytes) : null, bytes };
}

// The closures of a job over REST, on demand: there may be millions, so a page sees the first few.

import type { LogProgress } from './log-protocol';

export interface Closure {
  id: string;
  index: number;
  function: string;
  state: 'BLOCKED' | 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  progress?: LogProgress;
  error?: { kind: string; message: string };
  attempts: { attempt: number; worker: string; started_ms: number; ended_ms: number }[];
}
export interface Closures {
  closures: Closure[];
  more: boolean;
}

const PAGE = 200;

export async function readClosures(job: string): Promise<Closures> {
  const response = await fetch(`/api/v1/jobs/${encodeURIComponent(job)}/closures?limit=${PAGE}`, { headers: { Accept: 'application/json' } });
  const json = (await response.json().catch(() => ({}))) as { closures?: Closure[]; next_page_token?: string; detail?: string };
  if (!response.ok || !json.closures) throw new Error(json.detail ?? `HTTP ${response.status}`);
  return { closures: json.closures, more: json.next_page_token !== undefined };
}

// Reads events of a time range or kind over REST. The WebSocket contains only the newest events.

import type { Events } from 'muster-rest';
import { joined } from './model/event-filter';
import { useLooked } from '../shared/looked';
import type { EventRow } from '../shared/model/protocol';
import { api, get } from '../shared/rest';

const LIMIT = 1000;
export const PAGES_MAX = 10;
const EVERY = 5000;

interface Read {
  events: readonly EventRow[];
  more: boolean; // whether the range has further events
}

export interface PastEvents extends Read {
  known: boolean;
  problem: string;
}

async function readAll(path: string): Promise<Read> {
  const events: EventRow[] = [];
  let token = '';
  for (let page = 0; page < PAGES_MAX; ++page) {
    const body: Events = await get(`${path}${token && `&page_token=${encodeURIComponent(token)}`}`);
    events.push(...body.events);
    token = body.next_page_token ?? '';
    if (!token) break;
  }
  return { events, more: token !== '' };
}

// Sends no request if nothing is asked. `live` are the newest events, some of which are not on disk yet.
export function usePastEvents(asked: Readonly<Record<string, string | number>> | null, live: readonly EventRow[]): PastEvents {
  const looked = useLooked<Read>(asked ? api('events', { ...asked, limit: LIMIT }) : '', { every: EVERY, keep: true, read: readAll });
  const past = looked.value;
  return { events: joined(past?.events ?? [], live), more: past?.more ?? false, known: past !== null || looked.problem !== '', problem: looked.problem };
}

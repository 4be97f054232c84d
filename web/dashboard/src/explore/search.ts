// Searches the sources one after another, to limit concurrent requests. A new search cancels the previous search.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { gather, nothingFound, type Found, type LogMatches, type Source } from './model/log-search';
import { api, get } from '../shared/rest';

const TYPING_MS = 300;
const LIMIT = 100;

const read = (source: Source) => (token: string) => get<LogMatches>(api('logs/search', { ...source.query, limit: LIMIT, page_token: token }));

export interface Search {
  found: ReadonlyMap<string, Found>; // keyed by source
  again(): void;
  on(source: Source): void;
}

// The results are kept as long as `key` is unchanged.
export function useSearch(key: string, sources: readonly Source[]): Search {
  const found = useSignal<ReadonlyMap<string, Found>>(new Map());
  const round = useSignal(0);
  const now = useRef('');
  const mine = `${key} ${round.value}`;
  const begin = async (source: Source) => {
    const of = now.current;
    const told = (next: Found) => {
      if (now.current === of) found.value = new Map(found.peek()).set(source.key, next);
    };
    await gather(found.peek().get(source.key) ?? nothingFound, read(source), told);
  };
  useEffect(() => {
    now.current = mine;
    found.value = new Map();
    const timer = setTimeout(async () => {
      for (const source of sources) {
        if (now.current !== mine) return;
        await begin(source);
      }
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      now.current = '';
    };
  }, [mine]);
  return { found: found.value, again: () => ++round.value, on: (source) => void begin(source) };
}

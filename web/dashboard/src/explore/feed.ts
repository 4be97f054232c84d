import type { Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { frozen, store, viewNow } from '../shared/page';
import type { StreamFeed, Wanted } from './stream-client';
import { currentView, looking } from './stream-state';

const LOOK_MS = 1000;
const SETTLE_MS = 150; // delay after a move, before missing data is read

// Reads missing data and, in follow mode, new bars. `version` counts the responses.
export function useFeed(feed: StreamFeed, filter: Pick<Wanted, 'tasks' | 'job' | 'cluster' | 'until'>, version: Signal<number>, problem: Signal<string>): void {
  const key = JSON.stringify(filter);
  const boot = store.hello?.boot;
  useEffect(() => feed.forget(), [boot]);
  useEffect(() => {
    let left = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      clearTimeout(timer);
      if (store.serverNow > 0 && !frozen.value && !document.hidden)
        try {
          if (await feed.look({ view: currentView(), now: viewNow(), ...filter })) ++version.value;
          if (!left) problem.value = '';
        } catch (error) {
          if (!left) problem.value = error instanceof Error ? error.message : String(error);
        }
      clearTimeout(timer);
      if (!left) timer = setTimeout(look, store.serverNow > 0 ? LOOK_MS : 50);
    };
    const stop = looking.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(look, SETTLE_MS);
    });
    void look();
    return () => {
      left = true;
      stop();
      clearTimeout(timer);
    };
  }, [key, boot]);
}

// Polls a REST resource while it is visible and can change. Final values are read once. While the connection is lost or
// the page is paused, no request is sent and the last response is kept.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { answered, asked, failed, nextLook, nothing, type Look } from './model/look';
import { frozen, link, store } from './page';
import { get, Gone } from './rest';

const TYPING_MS = 200;

export interface Looked<T> extends Look<T> {
  again(): void; // sends a request immediately
}

interface Options<T> {
  every?: number; // time between a response and the next request, in ms
  over?(value: T): boolean; // whether the value is final
  keep?: boolean; // whether to keep the old response until a changed request is answered, for list filters
  read?(path: string): Promise<T>; // used instead of `get` if a value needs several requests
}

// Sends no request if the path is empty.
export function useLooked<T>(path: string, { every = 2000, over = () => false, keep = false, read = get }: Options<T> = {}): Looked<T> {
  const looked = useSignal<Look<T>>(nothing());
  const wake = useRef<() => void>(() => {});
  const held = asked(looked.value, path, keep);
  // After a server restart, the data is read again.
  const boot = store.hello?.boot;
  const run = useRef({ boot, n: 0 });
  if (boot && run.current.boot !== boot) run.current = { boot, n: run.current.n + (run.current.boot ? 1 : 0) };
  const still = frozen.value && link.value !== 'connecting'; // the first request does not wait for the socket

  useEffect(() => {
    looked.value = asked(looked.peek(), path, keep);
    if (!path) return;
    let left = false;
    let asking = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      clearTimeout(timer);
      if (asking) return;
      asking = true;
      if (!document.hidden || looked.peek().value === null) {
        try {
          const value = await read(path);
          if (!left) looked.value = answered(looked.peek(), value);
        } catch (error) {
          if (!left) looked.value = failed(looked.peek(), error instanceof Error ? error.message : String(error), error instanceof Gone);
        }
      }
      asking = false;
      const wait = nextLook(looked.peek(), every, over);
      if (!left && !still && wait !== null) timer = setTimeout(look, wait);
    };
    wake.current = () => void look();
    // Each keystroke changes the request; only the last request is sent.
    if (looked.peek().stale) timer = setTimeout(look, TYPING_MS);
    else if (!still || looked.peek().value === null) void look();
    return () => {
      left = true;
      wake.current = () => {};
      clearTimeout(timer);
    };
  }, [path, run.current.n, still]);

  return { ...held, again: () => wake.current() };
}

// What REST says of a job, asked again while the page shows it. No question after the answer that there is none.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Gone } from './jobs-client';
import { frozen, store } from './page';

const LOOK_MS = 1000;

export interface Looked<T> {
  job: string;
  value: T | null; // the newest, also when reading it again failed
  problem: string; // why the last reading failed
  gone: boolean; // there is no such job
}

// An empty `job` asks nothing.
export function useLooked<T>(job: string, read: (job: string) => Promise<T>): Looked<T> {
  const nothing: Looked<T> = { job, value: null, problem: '', gone: false };
  const looked = useSignal(nothing);
  const boot = store.hello?.boot; // another run of the server may know it
  useEffect(() => {
    if (!job) return;
    let left = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      let next: Looked<T> | null = null;
      if (!frozen.value && !document.hidden)
        try {
          next = { job, value: await read(job), problem: '', gone: false };
        } catch (error) {
          const gone = error instanceof Gone;
          const held = looked.peek();
          next = { job, value: gone || held.job !== job ? null : held.value, problem: error instanceof Error ? error.message : String(error), gone };
        }
      if (left) return;
      if (next) looked.value = next;
      if (!next?.gone) timer = setTimeout(look, LOOK_MS);
    };
    void look();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [job, boot]);
  return looked.value.job === job ? looked.value : nothing;
}

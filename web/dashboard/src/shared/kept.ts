// Lists of short texts in the browser's storage, newest last.

import { signal, type Signal } from '@preact/signals';

interface KeptList {
  list: Signal<readonly string[]>;
  add(text: string): void;
  drop(text: string): void;
}

export function keptList(key: string, max: number): KeptList {
  const list = signal<readonly string[]>(read(key).slice(-max));
  const set = (next: readonly string[]) => {
    list.value = next.slice(-max);
    try {
      localStorage.setItem(key, JSON.stringify(list.value));
    } catch {
      // Without storage, the list exists until the page is closed.
    }
  };
  return {
    list,
    add: (text) => set([...list.peek().filter((one) => one !== text), text]),
    drop: (text) => set(list.peek().filter((one) => one !== text)),
  };
}

function read(key: string): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

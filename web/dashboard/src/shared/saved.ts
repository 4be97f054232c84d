// Saved filters are stored in this browser. Users can share a filter by sending its address.

import { keptList } from './kept';

const MAX = 50;
const kept = keptList('muster.filters', MAX);

export interface SavedFilter {
  name: string;
  href: string;
}

// Returns only addresses of this server's pages, because the storage could have been manipulated.
export function savedFilters(): SavedFilter[] {
  return kept.list.value.flatMap((text) => {
    const at = text.indexOf(' ');
    const href = text.slice(0, at);
    return at > 0 && /^\/(?!\/|\\)/.test(href) ? [{ href, name: text.slice(at + 1) }] : [];
  });
}

export const isSaved = (href: string): boolean => savedFilters().some((one) => one.href === href);

export function saveFilter(href: string, name: string): void {
  forgetFilter(href);
  kept.add(`${href} ${name}`);
}

export function forgetFilter(href: string): void {
  for (const text of kept.list.peek()) if (text.startsWith(`${href} `)) kept.drop(text);
}

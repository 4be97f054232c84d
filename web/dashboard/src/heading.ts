// What the page is about, in words: the name of the job, the function of the closure. The header and the tab show it.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { unturned } from './model/bidi';

export interface Step {
  title: string;
  href: string;
}

export const heading = signal('');
// What stands above it besides the page that the rail has: the job of a closure.
export const trail = signal<readonly Step[]>([]);

export function useHeading(text: string, above?: Step): void {
  useEffect(() => {
    heading.value = unturned(text);
    trail.value = above ? [above] : [];
    return () => {
      heading.value = '';
      trail.value = [];
    };
  }, [text, above?.title, above?.href]);
}

// The subject of the page, such as a job name, for the header and the tab.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { unturned } from '../shared/model/bidi';

export interface Step {
  title: string;
  href: string;
}

export const heading = signal('');
// Parent pages in addition to the rail's entry, for example the job of a closure.
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

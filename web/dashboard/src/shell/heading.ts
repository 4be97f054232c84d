// The subject of the page, such as a job name, for the header and the tab.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { unturned } from '../shared/model/bidi';

export interface Step {
  title: string;
  href: string;
}

export const heading = signal('');
// The kind of the subject, if it differs from the page's title, such as a session on the page of jobs.
export const kind = signal('');
// Parent pages in addition to the rail's entry, for example the job of a closure.
export const trail = signal<readonly Step[]>([]);

export function useHeading(text: string, above?: Step, of = ''): void {
  useEffect(() => {
    heading.value = unturned(text);
    kind.value = of;
    trail.value = above ? [above] : [];
    return () => {
      heading.value = kind.value = '';
      trail.value = [];
    };
  }, [text, of, above?.title, above?.href]);
}

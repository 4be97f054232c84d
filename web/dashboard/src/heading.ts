// What the page is about, in words: the name of the job, the function of the closure. The header and the tab show it.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export const heading = signal('');

export function useHeading(text: string): void {
  useEffect(() => {
    heading.value = text;
    return () => {
      heading.value = '';
    };
  }, [text]);
}

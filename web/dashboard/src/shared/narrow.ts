// The CSS contains the same width.

import { signal } from '@preact/signals';

const media = matchMedia('(max-width: 600px)');
const narrow = signal(media.matches);
media.addEventListener('change', () => (narrow.value = media.matches));

export const useNarrow = (): boolean => narrow.value;

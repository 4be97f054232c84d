import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { announcement } from './connection';
import { paletteOpen } from '../shared/page';

const loaded = signal<ComponentType | null>(null);

export function Lazy() {
  const Shown = loaded.value;
  if (Shown) return <Shown />;
  import('./palette').then(
    ({ Palette }) => (loaded.value = Palette),
    () => {
      paletteOpen.value = false;
      announcement.value = 'The search dialog could not be loaded: the server does not answer.';
    },
  );
  return null;
}

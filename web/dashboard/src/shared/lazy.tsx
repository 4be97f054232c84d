// Loads the component's script after the first rendering.

import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';

export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>, Meanwhile: ComponentType<Props>): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  let asked = false;
  return function Lazy(props: Props) {
    if (!asked) {
      asked = true;
      load().then(
        (component) => (loaded.value = component),
        () => (asked = false), // so that the next rendering tries again
      );
    }
    const Shown = loaded.value ?? Meanwhile;
    return <Shown {...props} />;
  };
}
